"""From a suite and command-line options to a complete ``Run``: everything that can be wrong is found here."""
