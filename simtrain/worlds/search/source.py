"""A search world that was read and checked, and the folder of built worlds."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Mapping
from copy import copy
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from simtrain.contracts.world import Variant, World
from simtrain.files.file_bytes import file_bytes
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import instant, seconds
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, canonical
from simtrain.values.version import VERSION
from simtrain.worlds.search.building import GENERATION, BuildOrder, Watching, build
from simtrain.worlds.search.file import FORMAT
from simtrain.worlds.search.pages.design import Design
from simtrain.worlds.search.pages.press import Press, compile_all
from simtrain.worlds.search.pages.vocabulary import vocabulary
from simtrain.worlds.search.scaling import ordered
from simtrain.worlds.search.spec.schema import Schema
from simtrain.worlds.search.spec.source_facts import SourceFacts
from simtrain.worlds.search.spec.view import View
from simtrain.worlds.search.spec.word_rows import word_rows
from simtrain.worlds.search.spec.world_file import SearchSpec
from simtrain.worlds.search.toolsets.table import tools_of

CACHE = "SIMTRAIN_CACHE"


AS_WRITTEN = Variant()


class SearchSource(SourceFacts):
    """A search world file that was read and checked, not yet built."""

    kind = "search"
    file_model: ClassVar[type[SearchSpec]] = SearchSpec

    def __init__(self, document: Document) -> None:
        """Raises InputError, with the place, for parts that contradict each other."""
        self.document = document
        self.spec = document.parse(SearchSpec)
        schema = Schema(self.spec, document)
        # Checked now, so that a missing word is refused when the file is read, and not by a long build.
        word_rows(schema)
        self.design = Design(schema)
        super().__init__(
            name=self.spec.name,
            # Comments and layout do not count.
            digest=blake2b(canonical(document.data), digest_size=16).hexdigest(),
            seed=self.spec.seed,
            title=self.spec.title,
            description=self.spec.description,
            start=instant(self.spec.clock.start),
            per_step=seconds(self.spec.clock.per_step),
            view=self._view(),
        )
        with document.at(()):
            tools_of(self.view.tools)
        self._built: dict[Variant, World] = {}

    @classmethod
    def load(cls, document: Document) -> SearchSource:
        """Return the source of a world, with all checks that need no build. Raises InputError."""
        return cls(document)

    def identity(self, variant: Variant = AS_WRITTEN) -> str:
        """Return a digest of everything that a built file depends on: the file, words to avoid, seed, sizes, version."""
        parts = [
            FORMAT,
            # Another release may draw or render the same file in another way.
            VERSION,
            str(GENERATION),
            self.digest,
            str(self._seed(variant)),
            str(sorted(variant.rows)),
            *self._avoided,
        ]
        if self._enriched is not None:
            parts.append(blake2b(file_bytes(self._enriched), digest_size=16).hexdigest())
        return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

    def path(self, variant: Variant = AS_WRITTEN) -> Path:
        """Return where the built file is kept."""
        return cache_folder() / f"{self.name}-{self.identity(variant)}.sqlite"

    def build_file(
        self, variant: Variant = AS_WRITTEN, path: Path | None = None, watching: Watching | None = None
    ) -> Path:
        """Return the file of a variant, built if it is missing. Raises InputError with the place in the file."""
        path = path or self.path(variant)
        if not path.exists():
            counts = {name: entity.count for name, entity in self.spec.entities.items() if entity.count is not None}
            seed, identity = self._seed(variant), self.identity(variant)
            order = BuildOrder(self.design, seed, counts, tuple(self._avoided), identity, reworded=self._enriched)
            try:
                build(ordered(order, dict(variant.rows)), path, watching)
            except InputError as error:
                raise error.at(file=self.document.path) from None
        return path

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> SearchSource:
        """Return the same world, configured by the knobs of a scenario. Raises InputError with their place in the scenario."""
        other = copy(self)
        other.view = self.view.configured(document, knobs, place)
        # Worlds hold the view they were built with; only the file on disk is shared.
        other._built = {}
        return other

    def build(self, variant: Variant = AS_WRITTEN) -> World:
        """Return the world in a variant, built once. Raises InputError with the place in the file."""
        from simtrain.worlds.search.world import SearchWorld

        if variant not in self._built:
            self._built[variant] = SearchWorld(self, self.build_file(variant), variant)
        return self._built[variant]

    def render(self, connection: sqlite3.Connection, *, seed: int) -> None:
        press = Press(self.design, connection, compile_all(self.design), seed=seed)
        press.write_claims()
        for sheet in press.sheets():
            sheet.write(connection)

    def _view(self) -> View:
        """Return how the world is configured: what `search` and `tools` say, and the upkeep of each site."""
        upkeep = {name: site.upkeep for name, site in self.spec.sites.items() if site.upkeep is not None}
        given = self.spec.search.model_dump(mode="json", by_alias=True, exclude_unset=True)
        sites = {name: one.model_dump(mode="json", by_alias=True, exclude_unset=True) for name, one in upkeep.items()}
        tools = {} if self.spec.tools is None else {"tools": self.spec.tools}
        # `search.sites` takes precedence over the upkeep that a site states itself.
        return self.document.parse(View, {**given, **tools, "sites": {**sites, **given.get("sites", {})}})

    def _seed(self, variant: Variant) -> int:
        return self.spec.seed if variant.seed is None else variant.seed

    @cached_property
    def _enriched(self) -> Path | None:
        """The file of alternative page wordings, if there is one."""
        if self.spec.enriched is None:
            return None
        beside = self.document.path.parent / self.spec.enriched
        if not beside.is_file():
            raise self.document.error(("enriched",), f"there is no file {beside}", "`simtrain world enrich` writes one")
        return beside

    @cached_property
    def _avoided(self) -> list[str]:
        """The words that names must avoid: the author's list, and the world's own prose."""
        found = vocabulary(self.design)
        if self.spec.avoid is not None:
            beside = self.document.path.parent / self.spec.avoid
            try:
                found |= {word.lower() for word in file_bytes(beside).decode("utf-8").split()}
            except (OSError, UnicodeDecodeError):
                raise self.document.error(("avoid",), f"the file {beside} cannot be read") from None
        return sorted(found)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of built worlds: SIMTRAIN_CACHE, else the user's cache, else (if that cannot be written) a temporary folder."""
    if environment.get(CACHE):
        return Path(environment[CACHE]) / "worlds"
    base = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simtrain" / "worlds"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / "simtrain" / "worlds"
    return base
