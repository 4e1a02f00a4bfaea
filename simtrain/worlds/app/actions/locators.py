"""Targets as Playwright's locators name them: by role and name, by label, by text, or by a CSS selector."""

import re
from collections.abc import Callable

from selectolax.lexbor import LexborNode

from simtrain.worlds.app.accessibility.document import Element
from simtrain.worlds.app.actions.seen import SeenPage
from simtrain.worlds.app.browser.nodes import upwards

REF = re.compile(r"(f\d+)?e\d+")
_STEP = re.compile(
    r"""\s*\.?(?P<method>getByRole|getByText|getByLabel|getByPlaceholder|getByTitle|locator|filter|first|last|nth)
        \(\s*(?P<arguments>(?:[^()'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)\)""",
    re.VERBOSE,
)
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_OPTION = re.compile(r"(\w+)\s*:\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|true|false|-?\d+)")
_ROLE = re.compile(r"role=([a-z]+)((?:\[[^\]]*\])*)")
_ROLE_OPTION = re.compile(
    r"\[(name|exact|checked|expanded|selected|level)\s*=?\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\w*)\s*([is]?)\]"
)

MOST_TARGET = 2_000


class BadTarget(Exception):
    """A target that is no locator and no selector."""


Step = Callable[[SeenPage, list[LexborNode] | None], list[LexborNode]]
"""One step of a locator: what it finds within the elements so far (None: in the whole page)."""


def locate(seen: SeenPage, target: str) -> list[LexborNode]:
    """Return the elements that a target names, in document order. Raises BadTarget for one that cannot be read."""
    if len(target) > MOST_TARGET:
        raise BadTarget(target)
    within: list[LexborNode] | None = None
    for step in _steps(target.strip()):
        within = step(seen, within)
    return within or []


def _steps(target: str) -> list[Step]:
    target = target.removeprefix("page.")
    if target.startswith(("getBy", "locator(")):
        return _methods(target)
    return [_selector(part.strip()) for part in target.split(">>")]


def _methods(target: str) -> list[Step]:
    found: list[Step] = []
    place = 0
    while place < len(target):
        step = _STEP.match(target, place)
        if step is None:
            raise BadTarget(target)
        found.append(_method(step["method"], step["arguments"]))
        place = step.end()
    return found


def _method(name: str, arguments: str) -> Step:
    text, options = _arguments(arguments)
    if name == "first":
        return lambda seen, within: (within or [])[:1]
    if name == "last":
        return lambda seen, within: (within or [])[-1:]
    if name == "nth":
        index = int(arguments.strip()) if re.fullmatch(r"-?\d+", arguments.strip()) else 0
        return lambda seen, within: [(within or [])[index]] if -len(within or []) <= index < len(within or []) else []
    if name == "filter":
        wanted = str(options.get("hasText", ""))
        return lambda seen, within: [node for node in within or [] if _holds(node, wanted)]
    if text is None:
        raise BadTarget(arguments)
    if name == "locator":
        return _selector(text)
    exact = options.get("exact") is True
    if name == "getByRole":
        return _by_role(text, options, exact=exact)
    finders = {
        "getByText": _by_text,
        "getByLabel": _by_label,
        "getByPlaceholder": _by_placeholder,
        "getByTitle": _by_title,
    }
    return finders[name](text, exact)


def _arguments(source: str) -> tuple[str | None, dict[str, str | bool]]:
    first = _TEXT.match(source.strip())
    options: dict[str, str | bool] = {}
    for name, value in _OPTION.findall(source):
        options[name] = value == "true" if value in ("true", "false") else _unquoted(value)
    return (None if first is None else _unescaped(first[1] if first[1] is not None else first[2])), options


def _unquoted(text: str) -> str:
    return _unescaped(text[1:-1]) if text[:1] in "'\"" else text


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _selector(source: str) -> Step:
    role = _ROLE.fullmatch(source)
    if role is not None:
        options: dict[str, str | bool] = {}
        exact = False
        for name, value, flag in _ROLE_OPTION.findall(role[2]):
            options[name] = _unquoted(value) if name in ("name", "level") else value in ("", "true")
            exact = exact or (name == "name" and flag != "i")
        return _by_role(role[1], options, exact=exact)
    if source.startswith("text="):
        given = source.removeprefix("text=")
        quoted = given[:1] in "'\""
        return _by_text(_unquoted(given), quoted)
    if re.fullmatch(r"nth=-?\d+", source):
        return _method("nth", source.removeprefix("nth="))
    return _by_css(source.removeprefix("css="))


def _by_css(selector: str) -> Step:
    def find(seen: SeenPage, within: list[LexborNode] | None) -> list[LexborNode]:
        try:
            found = seen.document.css(selector)
        except Exception:
            # The parser's own error has no type of its own.
            raise BadTarget(selector) from None
        return _inside(seen, found, within)

    return find


def _inside(seen: SeenPage, found: list[LexborNode], within: list[LexborNode] | None) -> list[LexborNode]:
    if within is None:
        return found
    roots = {node.mem_id for node in within}
    return [
        node for node in found if any(above.mem_id in roots for above in upwards(node) if above.mem_id != node.mem_id)
    ]


def _by_role(role: str, options: dict[str, str | bool], *, exact: bool) -> Step:
    def find(seen: SeenPage, within: list[LexborNode] | None) -> list[LexborNode]:
        found: list[LexborNode] = []
        for node in seen.nodes:
            if node.role != role or ("name" in options and not _alike(node.name, str(options["name"]), exact=exact)):
                continue
            if any(
                bool(options[name]) is not (f"[{name}" in node.states)
                for name in ("checked", "expanded", "selected", "disabled", "pressed")
                if name in options
            ):
                continue
            if "level" in options and f"[level={options['level']}]" not in node.states:
                continue
            found.append(seen.elements[node.element.position])
        return _inside(seen, found, within)

    return find


def _by_text(text: str, exact: bool) -> Step:
    def find(seen: SeenPage, within: list[LexborNode] | None) -> list[LexborNode]:
        found: list[LexborNode] = []
        for element in seen.tree.page.elements:
            if not element.rendered or element.tag in ("html", "head", "body", "title", "script", "style"):
                continue
            if not _alike(_spaced(element.text()), text, exact=exact):
                continue
            # The innermost element counts: one whose parts do not hold the text themselves.
            if any(_alike(_spaced(part.text()), text, exact=exact) for part in element.elements() if part.rendered):
                continue
            found.append(seen.elements[element.position])
        return _inside(seen, found, within)

    return find


def _by_label(text: str, exact: bool) -> Step:
    def find(seen: SeenPage, within: list[LexborNode] | None) -> list[LexborNode]:
        page = seen.tree.page
        found: list[LexborNode] = []
        for element in page.elements:
            named = [element.attributes.get("aria-label", "")]
            named += [_spaced(label.text()) for label in page.labels.get(element.position, [])]
            named += [_spaced(other.text()) for other in page.referred(element.attributes.get("aria-labelledby"))]
            if any(name and _alike(name, text, exact=exact) for name in named):
                found.append(seen.elements[element.position])
        return _inside(seen, found, within)

    return find


def _by_attribute(attribute: str) -> Callable[[str, bool], Step]:
    def by(text: str, exact: bool) -> Step:
        def find(seen: SeenPage, within: list[LexborNode] | None) -> list[LexborNode]:
            found = [
                seen.elements[element.position]
                for element in seen.tree.page.elements
                if attribute in element.attributes and _alike(element.attributes[attribute], text, exact=exact)
            ]
            return _inside(seen, found, within)

        return find

    return by


_by_placeholder, _by_title = _by_attribute("placeholder"), _by_attribute("title")


def _holds(node: LexborNode, text: str) -> bool:
    return _spaced(text).lower() in _spaced(node.text(deep=True)).lower()


def _alike(given: str, wanted: str, *, exact: bool) -> bool:
    given, wanted = _spaced(given), _spaced(wanted)
    return given == wanted if exact else wanted.lower() in given.lower()


def _spaced(text: str) -> str:
    return " ".join(text.split())


def is_shown(element: Element | None) -> bool:
    """True if an element of the tree can be seen."""
    return element is not None and element.rendered and element.style.visible
