"""Which version of videopred is this, and what to do about a file that another one wrote."""

from importlib.metadata import version

SOFTWARE = f"videopred {version('videopred')}"
"""What files say wrote them."""


def fix_of_version(said: object, fix: str) -> str:
    """What to do about a file that this version cannot read, or has something against.

    Args:
        said: what the file says wrote it; None if it does not say.
        fix: what to do about a file of this version.
    """
    if said is None or str(said) == SOFTWARE:
        return fix
    return f"look at it with {said}, which wrote it (this is {SOFTWARE}), or {fix}"
