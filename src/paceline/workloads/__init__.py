"""Workloads: what is trained. ``builtin`` describes them without torch; each implementation has a file of its own."""
