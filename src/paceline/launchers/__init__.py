"""How ranks come to life: one file for each launcher. A launcher returns a command line; it starts nothing itself."""
