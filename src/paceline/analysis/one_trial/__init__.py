"""The raw records of one trial -> its status, metrics, phases and flags. ``derive.derive`` is the entry point."""
