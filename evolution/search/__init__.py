"""The search for better genomes, as points of a space: pure numbers, no database, no model."""
