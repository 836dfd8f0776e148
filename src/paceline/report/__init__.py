"""What people and scripts read: tables for the terminal, the JSON document."""

PROSE_COLUMNS = 100
"""Sentences are wrapped here at the latest, also where the output is wider or no terminal at all."""
