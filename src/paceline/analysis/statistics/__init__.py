"""Numbers only: tests, error spending, intervals, ranks and dispersion of paired differences. Knows no trial.

``pair_verdict.verdict(differences) -> Verdict`` is what others call; ``rank_intervals`` combines verdicts of all pairs.
"""
