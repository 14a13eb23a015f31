"""The letters of figures."""

from functools import cache

from matplotlib.font_manager import fontManager

FONT = "DejaVu Sans"
"""It comes with matplotlib, so that text is as wide everywhere."""
_OF_OTHER_SCRIPTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "NanumGothic", "Microsoft YaHei", "SimHei", "Yu Gothic", "MS Gothic",
    "Malgun Gothic", "PingFang SC", "Hiragino Sans GB", "Hiragino Sans", "AppleGothic", "Arial Unicode MS",
)  # fmt: skip
"""Fonts of Linux, Windows and macOS for letters that it lacks, such as Chinese, Japanese and Korean ones."""


@cache
def fonts() -> list[str]:
    """Names of the fonts to look for a letter in: ours, then those of other scripts that this machine has."""
    there = set(fontManager.get_font_names())
    return [FONT, *(name for name in _OF_OTHER_SCRIPTS if name in there)]
