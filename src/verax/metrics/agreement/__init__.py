"""Agreement with human annotations."""
