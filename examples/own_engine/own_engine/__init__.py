"""Data parallelism by hand, and ranks from ``torch.multiprocessing``: an engine that Paceline does not know of."""
