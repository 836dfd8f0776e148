"""Child processes that a launcher starts to run the jobs of a trial, and that may import frameworks.

``ray_core``, ``ray_train`` and ``ray_tune`` start a Ray cluster (``ray_cluster``), submit jobs to it, and write down
when each was submitted and released (``events``). ``fake_agent`` starts the ranks of the self-tests. The module of the
same name in ``paceline.launchers`` builds the command line of a driver.
"""
