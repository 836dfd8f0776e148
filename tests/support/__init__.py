"""What tests share: builders of cells and records, the command line, faulty engines."""
