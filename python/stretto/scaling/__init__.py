"""Measured strong scaling of the user's command: the runs, and what follows from them."""
