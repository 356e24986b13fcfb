"""What a cycle may spend, what it paid for, and who answers and judges."""
