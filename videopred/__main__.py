"""`python -m videopred` is the same as `videopred`."""

from videopred.cli import main

main()
