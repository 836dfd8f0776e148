"""Probes: child processes that answer one question about this machine or a workload, and may import frameworks."""
