"""The checks of a page find what is wrong with it."""

import pytest
from page_checks import Page


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<p>a<b>c</p></b>", "p closes b"),
        ("<p>", "p is not closed"),
        ("<script></script>", "there is a script"),
        ('<img src="https://a.b/c.png" alt="c">', "img asks for https://a.b/c.png"),
        ('<img src="data:,">', "an img has no alt"),
        ('<link href="style.css">', "link asks for style.css"),
        ("<style>a { background: url(b.png) }</style>", "the style has url("),
        ('<p onclick="a()"></p>', "p has onclick"),
        ("<svg></svg>", "an svg says nothing"),
    ],
)
def test_a_bad_page_is_found(text, fault):
    assert fault in Page(text).faults
