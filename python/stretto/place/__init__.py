"""Where ranks go: cores, cards, and an order of ranks that keeps messages within nodes."""
