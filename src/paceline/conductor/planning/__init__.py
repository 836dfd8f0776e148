"""From a suite and command-line options to a complete ``Run``. All errors in a request are found here."""
