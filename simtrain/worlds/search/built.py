"""A built file without its YAML source: its web is served, without what only the YAML states."""

from contextlib import closing
from pathlib import Path

from simtrain.contracts.world import Variant
from simtrain.worlds.search.file import blaming, open_file
from simtrain.worlds.search.spec.source_facts import SourceFacts
from simtrain.worlds.search.world import SearchWorld


def built_world(path: Path) -> SearchWorld:
    """Return the world in a built file. Raises InputError for a file that is not a world."""
    with blaming(path), closing(open_file(path)) as connection:
        meta = dict(connection.execute("select key, value from _meta").fetchall())
    return SearchWorld(SourceFacts(meta["world"], meta["identity"], int(meta["seed"])), path, Variant())
