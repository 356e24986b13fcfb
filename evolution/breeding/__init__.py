"""How variants of genomes come about, what refuses them, and what is remembered of them."""
