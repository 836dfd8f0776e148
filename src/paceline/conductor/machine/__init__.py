"""This machine: its inventory, the checks of ``doctor``, processes, probes, leftovers, background load."""
