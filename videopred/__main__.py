"""`videopred`, and `python -m videopred`, which is the same."""

import atexit
import gc
import sys


def main() -> None:
    """Run one command and exit with its status; what keeps the commands from loading is told in one line as well."""
    # Python's collector would look, in vain, through all that torch and Lightning make as they load, again and again
    # meanwhile and once more at the end: a second each time.
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    try:
        from videopred import cli
    except KeyboardInterrupt:
        print("videopred: interrupted; nothing had begun", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("videopred"):
            raise
        print(f"videopred: libraries must be installed, got {error}; run `pip install .` in the clone", file=sys.stderr)
        sys.exit(1)
    try:
        cli.main()
    finally:
        cli.hear_no_more()


if __name__ == "__main__":
    main()
