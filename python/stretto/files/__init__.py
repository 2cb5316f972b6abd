"""The files between the stages: the only code that reads or writes them.

`identity` (who measured), `profile`, `bench`, `table`, `verdict`, `forecast`, and `locate` (where
tables live).
Each has `read_X`, `parse_X`, `format_X`, `write_X` and a typed dataclass `X`.
"""
