"""How ranks come to life: one file a launcher. A command is a pure function's result; nothing is started here."""
