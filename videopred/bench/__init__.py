"""Benchmarks as commands: `videopred bench NAME`. Never run by a test but at a size that shows they work."""
