"""The inside of a training process: entry point, measured loop, samples, memory, leases, proofs.

The harness owns the loop and the clock, so that every engine is timed by the same lines of code.
"""
