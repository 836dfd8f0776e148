"""Whether an engine does the work of a single process, and whether two trials ran under the same conditions.

``proof_trials`` says which trials prove it, ``proof_outcome`` compares their records (``differences`` finds what
differs first, ``likely_cause`` the setting behind it). ``timed_trials`` holds timed trials against what was proven,
``same_conditions`` compares what ranks read back.
"""
