"""Files read and written by all ranks of a job, in several ways."""
