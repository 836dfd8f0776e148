"""Whether an engine does the work of a single process, and whether two trials ran under the same conditions.

``proof_trials`` says which trials prove an engine's work. ``proof_outcome`` compares their records: ``differences``
finds the first difference, ``likely_cause`` the setting behind it. ``timed_trials`` compares timed trials with what was
proven, ``same_conditions`` compares what ranks read back.
"""
