"""What people and scripts read: tables for the terminal, the JSON document."""
