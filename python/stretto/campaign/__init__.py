"""Campaigns over layouts: collectives x candidates x nodes x ranks per node x sizes, of each MPI.

`stretto.measure` measures one layout; this package says which layouts, in which order, and what is
worth measuring next (`elimination`), shares them among several jobs (`site`, `worker`), and makes
one table of it (`decide`, `conclude`).
"""
