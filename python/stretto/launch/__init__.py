"""Understanding the user's command, bringing Stretto to its ranks, and running it."""
