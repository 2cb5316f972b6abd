"""What the machine and the MPI give to collectives, and what is wrong with it.

`facts` reads the system (from any root, so that tests can fabricate one), `findings` judges.
"""
