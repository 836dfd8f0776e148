"""Numbers only: tests, error spending, intervals, ranks and dispersion of paired differences. Knows no trial.

``pair_verdict.verdict(differences) -> Verdict`` is the entry point; ``rank_intervals`` combines the verdicts of all
pairs of a table.
"""
