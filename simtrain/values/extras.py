"""Packages that come with an extra of simtrain alone."""

from __future__ import annotations

from importlib.util import find_spec

from simtrain.values.errors import InputError


def require(extra: str, *packages: str) -> None:
    """Refuse, with an InputError that names the extra, to go on without these packages."""
    for package in packages:
        if find_spec(package) is None:
            raise InputError(f"{package} is needed, which is not installed", remedy=f"pip install 'simtrain[{extra}]'")
