"""The run directory: the source of truth, append-only; everything else is derived from it."""
