"""`videopred`, and `python -m videopred`, which is the same."""

import sys


def main() -> None:
    """Run one command and exit with its status; Ctrl-C while the commands load is told in one line as well."""
    try:
        from videopred import cli
    except KeyboardInterrupt:
        print("videopred: interrupted; nothing had begun", file=sys.stderr)
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
