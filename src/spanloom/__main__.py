"""The command ``spanloom``, also as ``python -m spanloom``."""

import sys


def main() -> None:
    """Run the command line; ctrl-C before it has begun ends it without a traceback."""
    try:
        from spanloom.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
