"""Worlds: recipes of data sets, and the files that hold them."""
