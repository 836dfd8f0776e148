"""The command line: one small module a command. Heavy imports happen inside functions, so that --help is quick."""
