"""The run directory: append-only, and the source from which everything printed is derived."""
