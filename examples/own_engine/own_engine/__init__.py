"""Data parallelism by hand, and ranks from ``torch.multiprocessing``: an engine that is not built in."""
