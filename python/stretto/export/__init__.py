"""Native tuning files: what was measured, in the language of each MPI.

`rules` turns results into rules (which settings for which collective, layout and size); one module
for each MPI writes them in that MPI's grammar and its own idea of a message's size.
"""
