"""From records to numbers, proofs, verdicts and recommendations, in the order in which they are called.

- ``one_trial``: the raw records of a trial -> its ``Result`` (``derive.derive``).
- ``same_work``: the records of two trials -> whether they did the same work under the same conditions
  (``proof_outcome``, ``timed_trials``, ``same_conditions``).
- ``statistics``: paired differences of blocks -> a verdict (``pair_verdict.verdict``); knows no trial.
- ``whole_run``: a run directory -> everything that is printed of the run (``view.view_run``, ``RunView``). Only this
  sub-package reads files; the other three are pure functions.
"""
