"""The version of CXLab that is installed."""

from __future__ import annotations


def cxlab_version() -> str:
    """The version of the installed package, or that it is not installed."""
    # To read importlib.metadata takes a tenth of what a command needs to start, and few print a version.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cxlab")
    except PackageNotFoundError:
        return "not installed"
