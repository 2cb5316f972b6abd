"""From the recorder's raw files to one profile, and its readable form."""
