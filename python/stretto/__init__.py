"""Stretto makes MPI collectives fast on the cluster you have, for unchanged applications."""

__version__ = "0.1.0"
