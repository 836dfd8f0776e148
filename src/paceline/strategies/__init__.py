"""Strategies: how training state is laid out over ranks and stepped. ``builtin`` describes them without torch."""
