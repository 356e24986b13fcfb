"""Whether a candidate really is better, or as good and cheaper: tests with stated error rates."""
