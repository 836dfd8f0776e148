"""The command line: one small module a command. Heavy imports stand inside functions, so that --help is quick."""
