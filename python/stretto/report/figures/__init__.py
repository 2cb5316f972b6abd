"""The charts, one module for each question that the report answers."""
