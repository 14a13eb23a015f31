"""A page of pictures, text and plots."""

import numpy as np

from videopred.palette import PAGE
from videopred.rendering.page import Page, blank_page


def test_a_page_keeps_the_pixels_of_pictures_and_takes_the_colour_of_letters_as_it_is():
    """White letters on white leave it white: colours that are mixed are rounded, not cut."""
    picture = np.random.default_rng(0).integers(0, 256, (7, 9, 3), np.uint8)
    page = Page(blank_page(41, 80))
    page.write("WXYZ", 40, 41 / 2, color=PAGE)
    assert (page.drawn() == 255).all()
    page = Page(blank_page(41, 80))
    page.paste(picture, 3, left=5, top=2)
    np.testing.assert_array_equal(page.drawn()[2 : 2 + 21 : 3, 5 : 5 + 27 : 3], picture)
