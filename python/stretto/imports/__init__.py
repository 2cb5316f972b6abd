"""Results that other benchmarks printed, read into the bench results of Stretto."""
