"""Child processes that a launcher starts to run the jobs of a trial, and that may import frameworks.

``ray_core``, ``ray_train`` and ``ray_tune`` submit jobs to a Ray cluster (``ray_cluster``) and write down what comes
back (``events``); ``fake_agent`` starts the ranks of the self-tests. Launchers of the same name build their command.
"""
