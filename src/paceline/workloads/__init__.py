"""What is trained. ``builtin`` describes the workloads without torch; each implementation is a file of its own."""
