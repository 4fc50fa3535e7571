"""`foldmark`: serves over stdio when called alone, and works for a person otherwise."""

import sys


def main() -> None:
    """Start what the arguments ask for; a host's start pays for no command line."""
    if len(sys.argv) == 1:
        from foldmark_server.app import build

        build().run()
    else:
        from foldmark_server.cli import run

        run()


if __name__ == "__main__":
    main()
