"""The command `simtrain relay` with the perturbations of tests/support/twice.py among its plug-ins."""

from __future__ import annotations

import sys

from simtrain.cli import main
from simtrain.plugins import PLUGINS

PLUGINS["perturbations"] |= {"twice": "twice:Twice", "breaks": "twice:Breaks"}

if __name__ == "__main__":
    main(["relay", *sys.argv[1:]])
