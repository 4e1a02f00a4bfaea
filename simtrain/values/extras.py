"""Packages that only an extra of simtrain installs."""

from importlib.util import find_spec

from simtrain.values.errors import InputError

_INSTALL = "pip install 'simtrain["


def require(extra: str, *packages: str, by: str = "") -> None:
    """Raise InputError, naming the extra and what needs it (`by`), if its packages are not installed."""
    for package in packages:
        if find_spec(package) is None:
            needed = f"{by} needs {package}" if by else f"{package} is needed"
            raise InputError(f"{needed}, which is not installed", remedy=f"{_INSTALL}{extra}]'")


def lacks_extra(error: InputError) -> bool:
    """True if an error only means that an extra is not installed."""
    return (error.remedy or "").startswith(_INSTALL)
