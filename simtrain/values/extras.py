"""Packages that come with an extra of simtrain alone."""

from __future__ import annotations

from importlib.util import find_spec

from simtrain.values.errors import InputError

_INSTALL = "pip install 'simtrain["


def require(extra: str, *packages: str) -> None:
    """Refuse, with an InputError that names the extra, to go on without these packages."""
    for package in packages:
        if find_spec(package) is None:
            raise InputError(f"{package} is needed, which is not installed", remedy=f"{_INSTALL}{extra}]'")


def lacks_extra(error: InputError) -> bool:
    """True if nothing is wrong but that an extra is not installed."""
    return (error.remedy or "").startswith(_INSTALL)
