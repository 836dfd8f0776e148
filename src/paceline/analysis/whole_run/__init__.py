"""A whole run: rows of its tables, blocks that do not count, verdicts, recommendations, comparison with another run.

``view.view_run(directory) -> RunView`` is the entry point; everything that is printed of a run comes from that view.
"""
