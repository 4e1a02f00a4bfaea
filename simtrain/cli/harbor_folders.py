"""`simtrain export NAME --format harbor`: cases of scenarios as folders that Harbor plays."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.cli.options import print_json

if TYPE_CHECKING:
    from simtrain.integrations.harbor.exporting import HarborFolder
    from simtrain.values.types import JsonObject


def export_folders(names: list[str], out: Path, knobs: JsonObject, *, as_json: bool) -> None:
    """Write a folder for each case of the scenarios, or for the one that `case` names. Raises InputError."""
    import asyncio

    from simtrain.cli.progress import Counting
    from simtrain.files.yaml_files import validated
    from simtrain.integrations.harbor.exporting import FolderOptions, write_harbor_folder
    from simtrain.public import load_scenarios
    from simtrain.scenarios.load import paradigm_of

    options = validated(FolderOptions, knobs, place="--with")
    scenarios = load_scenarios(*names)
    chosen = [
        (scenario, number)
        for scenario in scenarios
        for number, _ in enumerate(paradigm_of(scenario).episodes(scenario, seed=options.seed, attempts=1))
        if options.case in (None, number)
    ]
    if not chosen:
        # Said as everywhere else.
        chosen = [(scenarios[0], options.case or 0)]
    written: list[HarborFolder] = []
    with Counting("writing", total=len(chosen), quiet=as_json) as counting:
        for scenario, number in chosen:
            written.append(asyncio.run(write_harbor_folder(scenario, out, case=number, options=options)))
            counting.advance()
    if as_json:
        print_json([{**asdict(folder), "folder": str(folder.folder)} for folder in written])
        return
    for folder in written:
        beside = f"; its world is served beside it: {folder.because}" if folder.because else ""
        print(f"{folder.folder}: {folder.calls} calls earn {folder.solution:g}, none earn {folder.nop:g}{beside}")
    if all(folder.alone for folder in written):
        print(f"play them: simtrain run {out} --agent oracle")
    print(f"play them: harbor run -p {out} -a oracle --env simtrain.integrations.harbor:Environment")
