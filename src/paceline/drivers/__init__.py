"""Programs that must import a framework outside a rank, or that stand between conductor and ranks: child processes."""
