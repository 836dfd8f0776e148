"""What is asked for and what is recorded: pydantic models and tables that import nothing else of Paceline."""
