"""The files of a new plug-in, from the templates in starter/plugins."""

import re
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path
from string import Template

from simtrain.contracts.kinds import PluginKind
from simtrain.contracts.registry import known
from simtrain.values.errors import InputError, nearest

_NAME = re.compile(r"[a-z][a-z0-9_]*")

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "simtrain-$dashed"
version = "0.1.0"
description = "A $words for simtrain"
requires-python = ">=3.11"
dependencies = ["simtrain"]

[project.entry-points."simtrain.$kind"]
$name = "simtrain_$name:$Class"

[tool.hatch.build.targets.wheel]
include = ["simtrain_$name.py"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""


def package_files(kind: PluginKind, name: str, folder: Path) -> dict[Path, str]:
    """Return the files of a package of one's own by path. Raises InputError if the folder exists or the name cannot be used."""
    # Never into an existing folder: its files might be somebody's work.
    if folder.exists():
        raise InputError("the folder is already there", remedy="choose another with --into", file=folder)
    words = _words(kind, name)
    plugin, test = _parts(kind)
    return {
        folder / "pyproject.toml": Template(PYPROJECT).substitute(words),
        folder / f"simtrain_{name}.py": Template(plugin).substitute(words),
        folder / f"test_{name}.py": Template(test).substitute(words),
    }


def in_checkout(kind: PluginKind, name: str) -> dict[Path, str]:
    """Return the file of a plug-in, and the table of plug-ins with its line, of the checkout around the working folder.

    Raises InputError.
    """
    here = Path.cwd()
    root = next((path for path in (here, *here.parents) if (path / "simtrain" / "plugins.py").is_file()), None)
    if root is None:
        raise InputError("this is not a checkout of simtrain", remedy="go to one, or leave out --in-tree")
    words = _words(kind, name)
    file = root / "simtrain" / kind.folder / f"{name}.py"
    if file.exists():
        raise InputError("the file is already there", remedy="choose another name", file=file)
    table = root / "simtrain" / "plugins.py"
    module = f"simtrain.{kind.folder.replace('/', '.')}.{name}"
    # By text, not by a parsed tree: comments and order of the table stay as they are.
    lines = table.read_text().split("\n")
    end = lines.index("    },", lines.index(f'    "{kind.name}": {{'))
    lines.insert(end, f'        "{name}": "{module}:{words["Class"]}",')
    return {file: Template(_parts(kind)[0]).substitute(words), table: "\n".join(lines)}


def _words(kind: PluginKind, name: str) -> dict[str, str]:
    """Return the values of the templates' slots. Raises InputError for a name that is taken, or invalid in YAML or Python."""
    if not _NAME.fullmatch(name) or iskeyword(name):
        raise InputError(
            f"{name!r} cannot be the name of a plug-in", remedy="use small letters, digits and underscores"
        )
    if name in known(kind.name):
        raise InputError(f"there is a {kind.singular.replace('_', ' ')} {name!r} already", remedy="choose another name")
    is_class = kind.contract is not None
    return {
        "name": name,
        "dashed": name.replace("_", "-"),
        "kind": kind.name,
        "singular": kind.singular,
        "words": kind.singular.replace("_", " "),
        "Class": "".join(part.capitalize() for part in name.split("_")) if is_class else name,
    }


def _parts(kind: PluginKind) -> tuple[str, str]:
    """Return the plug-in and its test, as templates. Raises InputError for a kind that has none."""
    folder = files("simtrain.cli").joinpath("starter", "plugins")
    template = folder.joinpath(f"{kind.singular}.txt")
    if not template.is_file():
        kinds = [item.name.removesuffix(".txt") for item in folder.iterdir()]
        raise InputError(f"a new {kind.singular} takes more than one file", remedy=nearest(kind.singular, kinds))
    plugin, _, test = template.read_text().partition("# --- test\n")
    return plugin, test
