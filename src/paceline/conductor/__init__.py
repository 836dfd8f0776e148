"""The conductor: the process that the user starts. It plans trials, runs them one at a time and writes them down.

- ``machine``: what this machine is, what runs on it, what was left on it.
- ``planning``: a suite and options -> a complete ``Run``; nothing of it starts.
- ``execution``: a ``Run`` -> a run directory full of results.
"""
