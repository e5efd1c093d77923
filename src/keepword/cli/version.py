"""keepword version."""

from keepword import __version__


def version() -> None:
    """Print the version."""
    print(__version__)
