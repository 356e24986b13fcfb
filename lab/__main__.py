"""`python -m lab` is `genoma`."""

from lab.cli import main

main()
