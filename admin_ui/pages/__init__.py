"""One module for each place where people look or decide."""
