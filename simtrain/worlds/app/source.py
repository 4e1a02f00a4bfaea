"""A parsed app world file, and the worlds built from it."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from simtrain.contracts.world import Variant, World
from simtrain.files.yaml_files import Document, Place, read_document
from simtrain.values.types import JsonObject, canonical
from simtrain.worlds.app.building import build_site
from simtrain.worlds.app.spec import AppSpec, AppView
from simtrain.worlds.app.web.site import AppSite
from simtrain.worlds.app.web.templates import ENDINGS
from simtrain.worlds.app.world import AppWorld
from simtrain.worlds.service.database import Database
from simtrain.worlds.service.source import ServiceSource


class AppSource:
    """A parsed and checked app world file. Worlds are built from it on demand."""

    kind = "app"
    file_model: ClassVar[type[AppSpec]] = AppSpec

    def __init__(self, document: Document, spec: AppSpec) -> None:
        """Raises InputError with the place in the file."""
        self.document = document
        self.spec = spec
        self.name = spec.name
        self.view = AppView()
        self.folder: Path = document.path.parent / spec.templates
        self.service: ServiceSource | None = None
        if spec.database is not None:
            path = document.path.parent / spec.database
            if not path.is_file():
                raise document.error(("database",), f"there is no file {path}")
            shared = read_document(path)
            if shared.data.get("kind") != "service":
                raise document.error(("database",), f"{spec.database} is not a service world")
            self.service = ServiceSource.load(shared)
        self._built: dict[Variant, AppWorld] = {}
        # What the knobs of scenarios do not change, shared by all that are configured.
        self._shared: dict[Variant, AppWorld] = {}
        self._sites: list[AppSite] = []

    @classmethod
    def load(cls, document: Document) -> AppSource:
        """Return the source of a world, checked as far as possible without building it. Raises InputError."""
        return cls(document, document.parse(AppSpec))

    @cached_property
    def digest(self) -> str:
        """Digest of the file's content, its templates and style sheet, and the shared world."""
        files = sorted(path for path in self.folder.rglob("*") if path.suffix in (*ENDINGS, ".css"))
        texts = [[path.relative_to(self.folder).as_posix(), path.read_text(encoding="utf-8")] for path in files]
        shared = self.service.digest if self.service else None
        return blake2b(
            canonical([self.document.data, texts, shared, self.view.model_dump()]), digest_size=16
        ).hexdigest()

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> AppSource:
        """Return the same app, configured by a scenario's knobs. Raises InputError with their place in the scenario."""
        other = copy(self)
        other.__dict__.pop("digest", None)
        other.view = document.parse(AppView, {**self.view.model_dump(), **knobs}, place)
        other._built = {}
        return other

    def site_over(self, database: Database) -> AppSite:
        """Return the site, made once: it depends on the tables of a database, and these are the same in all variants."""
        if not self._sites:
            self._sites.append(build_site(self.spec, self.document, self.folder, database))
        return self._sites[0]

    def build(self, variant: Variant = Variant()) -> World:  # noqa: B008
        """Return the world in a variant, built once. Raises InputError with the place in the file."""
        if variant not in self._built:
            if variant not in self._shared:
                self._shared[variant] = AppWorld(self, variant)
            self._built[variant] = self._shared[variant].viewed(self)
        return self._built[variant]
