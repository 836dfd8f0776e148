"""The conductor: the process that the user starts. It plans trials, runs them one at a time and records them.

- ``machine``: what this machine is, what runs on it, and what frameworks leave behind on it.
- ``planning``: from a suite and options to a complete ``Run``; no trial starts.
- ``execution``: from a ``Run`` to a run directory full of results.
"""
