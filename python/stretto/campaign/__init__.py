"""Campaigns over layouts: collectives x candidates x nodes x ranks per node x sizes, of each MPI.

`stretto.measure` measures one layout; this room says which layouts, in which order, and what is
worth measuring next (`elimination`), keeps what was measured safe among several jobs (`folder`,
`claims`), and makes one table of it (`decide`, `interpolate`).
"""
