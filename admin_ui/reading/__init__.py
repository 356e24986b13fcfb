"""What the pages show, read from the store into plain values."""
