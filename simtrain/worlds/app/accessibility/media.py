"""Media queries, for a screen of 1280 by 720 CSS pixels with light colours and a mouse."""

import re

WIDTH, HEIGHT = 1280, 720
_UNITS = {"px": 1.0, "em": 16.0, "rem": 16.0}
_LENGTH = r"(\d*\.?\d+)(px|em|rem)?"
_BOUND = re.compile(rf"(min|max)-(?:device-)?(width|height)\s*:\s*{_LENGTH}")
_RANGE = re.compile(rf"(width|height)\s*(<=|>=|<|>)\s*{_LENGTH}")
_FEATURES = {
    "prefers-color-scheme: light": True,
    "prefers-color-scheme: dark": False,
    "prefers-reduced-motion: reduce": False,
    "prefers-reduced-motion: no-preference": True,
    "prefers-contrast: more": False,
    "forced-colors: active": False,
    "orientation: landscape": True,
    "orientation: portrait": False,
    "hover": True,
    "hover: hover": True,
    "hover: none": False,
    "pointer: fine": True,
    "pointer: coarse": False,
}


def applies(condition: str) -> bool | None:
    """Whether a list of media queries, in lower case, holds for the screen; None where that cannot be told."""
    answers = [_query(query.strip()) for query in condition.split(",")] if condition else [True]
    if True in answers:
        return True
    return None if None in answers else False


def _query(query: str) -> bool | None:
    negated = query.startswith("not ") and not query.startswith("not (")
    parts = re.split(
        r"\s+and\s+", query.removeprefix("not ").removeprefix("only ") if negated else query.removeprefix("only ")
    )
    answers = [_part(part.strip()) for part in parts]
    if None in answers:
        return None
    return all(answers) != negated


def _part(part: str) -> bool | None:
    if part in ("screen", "all"):
        return True
    if part in ("print", "speech"):
        return False
    feature = re.sub(r"\s*:\s*", ": ", part.removeprefix("(").removesuffix(")").strip())
    if feature in _FEATURES:
        return _FEATURES[feature]
    if bound := _BOUND.fullmatch(feature):
        limit = float(bound[3]) * _UNITS[bound[4] or "px"]
        size = WIDTH if bound[2] == "width" else HEIGHT
        return size >= limit if bound[1] == "min" else size <= limit
    if compared := _RANGE.fullmatch(feature):
        limit = float(compared[3]) * _UNITS[compared[4] or "px"]
        size = WIDTH if compared[1] == "width" else HEIGHT
        return {"<": size < limit, "<=": size <= limit, ">": size > limit, ">=": size >= limit}[compared[2]]
    return None
