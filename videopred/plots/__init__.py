"""Scores, and surprise at films, as figures with axes. What is drawn of clips alone is in `rendering`."""
