"""Output of Paceline: tables for the terminal, and the JSON document for scripts."""
