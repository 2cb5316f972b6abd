"""The report: one page and its pictures from the files of the other stages; it measures nothing."""
