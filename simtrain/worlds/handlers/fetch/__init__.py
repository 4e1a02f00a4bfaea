"""The tool and the prompt of a fetch server over a small web whose pages are rows of the world."""

from importlib.util import find_spec

from simtrain.values.errors import InputError

for _package in ("bs4", "html5lib", "markdownify", "protego"):
    if find_spec(_package) is None:
        raise InputError(
            f"this handler needs {_package}, which is not installed", remedy="pip install 'simtrain[fetch]'"
        )
