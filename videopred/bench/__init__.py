"""Benchmarks as commands: `videopred bench NAME`. Tests run them at a size that shows only that they work."""
