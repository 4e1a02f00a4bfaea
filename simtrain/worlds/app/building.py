"""Building an app: its database (its own, or one shared with a service world), and its site, checked as a whole."""

import re
from collections.abc import Mapping
from pathlib import Path

from simtrain.contracts.world import Variant
from simtrain.files.file_model import FileModel
from simtrain.files.yaml_files import Document, Place
from simtrain.values.errors import InputError, nearest
from simtrain.worlds.app.accessibility.stylesheets import read_stylesheet
from simtrain.worlds.app.forms import CompiledForm
from simtrain.worlds.app.routes import ANY, Routes, could_be
from simtrain.worlds.app.rules import checked_sql
from simtrain.worlds.app.screens import Screen
from simtrain.worlds.app.site_texts import SiteTexts
from simtrain.worlds.app.spec import AppSpec
from simtrain.worlds.app.web.links import EXPRESSION, Reference, check_links, references, without_form
from simtrain.worlds.app.web.site import ERROR, PAGE, AppSite
from simtrain.worlds.app.web.templates import Templates
from simtrain.worlds.service.change_log import watch
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.filling import fill
from simtrain.worlds.service.source import ServiceSource

_LOOK = re.compile(r"\blook\.(\w+)")
_ERROR_TEMPLATE = "error.html"
_FILES = "create table files (path text primary key, content text not null)"
"""The world's file store: what an agent can upload, and what it downloaded."""


def build_database(
    spec: AppSpec, document: Document, service: ServiceSource | None, variant: Variant, *, seed: int
) -> Database:
    """Return the base of an app: the shared world's rows, the file store, and the app's own rows. Raises InputError."""
    counts = dict(variant.rows)
    own = {table: count for table, count in counts.items() if table in spec.rows}
    shared: Mapping[str, int] = {table: count for table, count in counts.items() if table not in own}
    content = None
    if service is not None:
        base = fill(service.spec, service.document, seed=_shared_seed(service, variant), counts=shared)
        content = base.serialize()
        base.close()
    elif shared:
        table = next(iter(shared))
        raise document.error(("rows",), f"no rows are generated for the table {table!r}", nearest(table, spec.rows))
    started = Database(content)
    started.run(_FILES, mode=Mode.OWN)
    watch(started, ["files"])
    content = started.serialize()
    started.close()
    clock = service.spec.clock if service is not None and "clock" not in spec.model_fields_set else spec.clock
    return fill(spec.model_copy(update={"clock": clock}), document, seed=seed, counts=own, onto=content)


def _shared_seed(service: ServiceSource, variant: Variant) -> int:
    return service.spec.seed if variant.seed is None else variant.seed


def build_site(spec: AppSpec, document: Document, folder: Path, database: Database) -> AppSite:
    """Return the site of an app. Raises InputError, with file and line, for anything in it that cannot work."""
    with document.locating(("templates",)):
        templates = Templates(folder)
    texts = SiteTexts(spec.texts, document)
    screens = [(path, Screen(path, source, document, database, texts)) for path, source in spec.screens.items()]
    forms = [(path, CompiledForm(path, source, document, database, texts)) for path, source in spec.forms.items()]
    for name, place in (("error.html", ("templates",)), (spec.layout, ("layout",))):
        if name not in templates.sources:
            raise document.error(place, f"there is no template {name!r}", nearest(name, templates.sources))
    for pattern, screen in screens:
        place: Place = ("screens", pattern, "template")
        if screen.source.template not in templates.sources:
            raise document.error(
                place,
                f"there is no template {screen.source.template!r}",
                nearest(screen.source.template, templates.sources),
            )
        # What is shown must be escaped, which only .html is.
        if screen.source.download is None and not screen.source.template.endswith(".html"):
            raise document.error(place, "a page is a template that ends in .html", "add `download` for a file")
        own = PAGE | {"page"} if screen.source.pages else PAGE
        shadowed = {*screen.source.query, *screen.source.let, *screen.source.read} & own
        if shadowed:
            name = min(shadowed)
            raise document.error(
                ("screens", pattern), f"{name!r} means something on every page already", "give it another name"
            )
        templates.check(screen.source.template, screen.names | PAGE)
    templates.check(_ERROR_TEMPLATE, PAGE | ERROR)
    templates.check_attributes("look", spec.looks)
    _check_looks(spec, document)
    found = references(folder, templates.sources)
    check_links(found, list(spec.screens), list(spec.forms))
    _check_forms(spec, document, found)
    sign_in = spec.users.sign_in if spec.users else "/"
    if spec.users is not None:
        checked_sql(document, ("users", "read"), database, spec.users.read, {"id"})
        if sign_in not in spec.screens:
            raise document.error(("users",), f"there is no screen {sign_in}", nearest(sign_in, spec.screens))
    _check_roles(spec, document)
    if spec.start not in spec.screens:
        raise document.error(("start",), f"there is no screen {spec.start}", nearest(spec.start, spec.screens))
    return AppSite(
        Routes[Screen].of(screens),
        Routes[CompiledForm].of(forms),
        templates,
        spec.users.read if spec.users else None,
        sign_in,
        _ERROR_TEMPLATE,
        texts,
    )


def style_of(spec: AppSpec, folder: Path) -> str:
    """Return the text of the app's style sheet. Raises InputError, with its line, for a rule outside the declared subset."""
    if spec.style is None:
        return ""
    path = folder / spec.style
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the style sheet cannot be read: {error}", file=path) from None
    for passed in read_stylesheet(text).passed_over:
        raise InputError(
            f"this rule is outside the subset of CSS that decides what is visible: {passed.reason}",
            remedy="see docs/apps.md",
            file=path,
            line=passed.line,
        )
    return text


def _check_forms(spec: AppSpec, document: Document, found: list[Reference]) -> None:
    idle = without_form(found, list(spec.forms))
    if idle is not None:
        raise document.error(
            ("forms", idle), f"no template has a form that posts to {idle}", "add the form, or remove it"
        )
    for pattern, form in spec.forms.items():
        then = _unknown(form.then)
        if then not in ("", ANY) and not any(could_be(then, screen) for screen in spec.screens):
            raise document.error(
                ("forms", pattern, "then"), f"{form.then} leads nowhere", nearest(form.then, spec.screens)
            )


def _unknown(template: str) -> str:
    """Return the path of an address template, with ANY for what is filled in."""
    return EXPRESSION.sub(ANY, template).partition("#")[0].partition("?")[0]


def _check_looks(spec: AppSpec, document: Document) -> None:
    """Raise InputError for a text of a screen or form that names a look which the app does not have."""
    entries: list[tuple[Place, FileModel]] = [(("texts",), spec.texts)]
    entries += [(("screens", pattern), screen) for pattern, screen in spec.screens.items()]
    entries += [(("forms", pattern), form) for pattern, form in spec.forms.items()]
    for place, entry in entries:
        for named in _LOOK.findall(entry.model_dump_json()):
            if named not in spec.looks:
                raise document.error(
                    place, f"the app has no look {named!r}", nearest(named, spec.looks) or "declare it"
                )


def _check_roles(spec: AppSpec, document: Document) -> None:
    if spec.users is not None:
        return
    for key, entries in (("screens", spec.screens), ("forms", spec.forms)):
        for pattern, entry in entries.items():
            if entry.roles is not None:
                raise document.error((key, pattern, "for"), "nobody can sign in here", "add `users`")
