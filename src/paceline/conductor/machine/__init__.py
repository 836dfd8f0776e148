"""This machine: its inventory, the checks of ``doctor``, processes and their end, leftovers, background load."""
