"""Defects planted in the builder of gold SQL, each with the kinds of questions that meet it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from simtrain.questions import sql

Plant = Callable[[pytest.MonkeyPatch], None]
_Compiler: Any = sql._Compiler


def _wrapped(name: str, change: Callable[..., Any]) -> Plant:
    """A method of the compiler whose result is changed: `change` gets the compiler, the result, and the arguments."""
    method = getattr(_Compiler, name)

    def planted(self: Any, *given: Any) -> Any:
        return change(self, method(self, *given), *given)

    return lambda patch: patch.setattr(_Compiler, name, planted)


def _swapped(name: str, found: str, put: str) -> Plant:
    """A method of the compiler in whose SQL some words are replaced."""
    return _wrapped(name, lambda _self, text, *_given: re.sub(found, put, text))


def _all_inner(self: Any, _needed: set[int]) -> set[int]:
    return set(range(1, len(self.shape.nodes)))


def _forgetful(patch: pytest.MonkeyPatch) -> None:
    """The last condition gets no SQL."""
    where = _Compiler._where

    def planted(self: Any) -> str:
        shape = self.shape
        self.shape = replace(shape, tests=shape.tests[:-1])
        text: str = where(self)
        self.shape = shape
        return text

    patch.setattr(_Compiler, "_where", planted)


def _one_more(_self: Any, compiled: sql.Compiled) -> sql.Compiled:
    if compiled.limit is None:
        return compiled
    limit = {compiled.limit: int(str(compiled.parameters[compiled.limit])) + 1}
    return replace(compiled, parameters={**compiled.parameters, **limit})


def _turned(_self: Any, order: str) -> str:
    first, *rest = order.split(", ")
    return ", ".join([first.removesuffix(" desc") if first.endswith(" desc") else f"{first} desc", *rest])


def _other_group(self: Any, text: str, _term: str) -> str:
    ref = self.shape.nodes[self.shape.extreme.group].ref
    others = [other.name for other in self.schema.tables[self.shape.subject].refs if other.name != ref]
    return re.sub(rf"\.{ref}\b", f".{others[0]}", text) if others else text


def _distinct(self: Any, text: str, _column: Any) -> str:
    refs = self.schema.tables[self.shape.subject].refs
    return re.sub(r"count\(\*\)", f"count(distinct {self.aliases[0]}.{refs[0].name})", text)


def _turned_sign(_self: Any, text: str, _term: str) -> str:
    return re.sub(" ([<>]) ", lambda found: " > " if found[1] == "<" else " < ", text)


def _first_alias(self: Any, text: str, term: Any) -> str:
    return text if term.node < 0 else f"{self.shape.nodes[term.node].table}.{term.attribute}"


def _truthful(self: Any, text: str, site: str) -> str:
    return text if site == "_other" else f"{self.aliases[0]}.{self.shape.dispute.attribute}"


def _nulls_too(_self: Any, text: str, test: Any, term: str, _alias: str) -> str:
    return f"({text} or {term} is null)" if test.operator in ("<=", ">=", "between", "more", "less") else text


DEFECTS: dict[str, tuple[str, tuple[str, ...], Plant]] = {
    "an inner join for a left one": ("korvessia_league", ("looked_up",), _wrapped("_needed", _all_inner)),
    "the last condition dropped": ("kestrel_reach", ("filtered",), _forgetful),
    "more than for at least": ("kestrel_reach", ("filtered", "joined"), _swapped("_test", ">=", ">")),
    "the wrong group": ("skarnveil_wiki", ("best",), _wrapped("_best", _other_group)),
    "a count of distinct references": ("skarnveil_wiki", ("counted",), _wrapped("_expression", _distinct)),
    "one row too many": ("kestrel_reach", ("topped",), _wrapped("compiled", _one_more)),
    "the order reversed": ("kestrel_reach", ("topped",), _wrapped("_order", _turned)),
    "the worst for the best": ("kestrel_reach", ("best",), _wrapped("_best", _turned_sign)),
    "what ended for what still holds": (
        "korvessia_league", ("linked",), _swapped("_test", r"(\w+\.until) is null$", r"\1 is not null"),
    ),
    "the end of a time ignored": (
        "korvessia_league", ("linked",), _swapped("_test", r" and \(\w+\.until is null or .*\)", ""),
    ),
    "the first table of two that are alike": ("kestrel_reach", ("linked", "joined"), _wrapped("_term", _first_alias)),
    "what does not exist meets conditions": ("meridian_2058", ("filtered", "joined"), _wrapped("_test", _nulls_too)),
    "once for at present": (
        "korvessia_league", ("related",), _swapped("_exists", r"(\w+\.until) is null", r"\1 is not null"),
    ),
    "any for none": ("kestrel_reach", ("differed",), _swapped("_exists", "not exists", "exists")),
    "the claims of one site alone": ("marrowane_shipping", ("disputed",), _wrapped("_says", _truthful)),
    "earlier for later": ("kestrel_reach", ("temporal",), _swapped("_test", r" > (\w+\.\w+)$", r" < \1")),
}  # fmt: skip
