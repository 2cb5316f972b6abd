"""Deciding: from measurements to tables (`decide`), and from a profile to a verdict on CMD."""
