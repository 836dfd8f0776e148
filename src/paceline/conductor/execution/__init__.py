"""From a ``Run`` to results.

``campaign`` goes through the plan, ``trial_runner`` runs one trial, ``slot_queue`` or ``load_driver`` runs its jobs.
"""
