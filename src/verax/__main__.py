"""`python -m verax` is `verax`."""

from verax.cli import main

main()
