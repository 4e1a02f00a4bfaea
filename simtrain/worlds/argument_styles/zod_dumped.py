"""Argument checks of servers that send the whole message of a `ZodError`, its issues as JSON by zod 4 or zod 3, or zod 3's by lines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from simtrain.contracts.argument_style import Check
from simtrain.values.json_walk import each_object
from simtrain.values.types import JsonObject
from simtrain.worlds.argument_styles.zod import zod_check
from simtrain.worlds.argument_styles.zod3_words import in_words_of_zod3
from simtrain.worlds.argument_styles.zod_words import Issue, Step


def zod_json(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server whose zod 4 issues are sent as JSON. Raises ValueError for an invalid or recursive
    JSON Schema.
    """
    return zod_check(schema, lambda issues: _dumped(list(map(_fourth, issues))))


def zod3_json(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server whose zod 3 issues are sent as JSON. Raises ValueError as `zod_json` does."""
    return zod_check(_lenient(schema), lambda issues: _dumped(list(_third(issues))))


def zod3(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server whose zod 3 issues have a line each. Raises ValueError as `zod_json` does."""
    return zod_check(_lenient(schema), lambda issues: "\n".join(map(_line, _third(issues))))


def _line(issue: JsonObject) -> str:
    return str(Issue(issue["message"], tuple(issue["path"])))


def _lenient(schema: JsonObject) -> JsonObject:
    """Return the schema without its bans on further members: the converter for zod 3 writes one for every object, strict or not."""

    def relaxed(held: JsonObject) -> JsonObject:
        return {key: item for key, item in held.items() if (key, item) != ("additionalProperties", False)}

    return each_object(schema, relaxed)


def _fourth(issue: Issue) -> JsonObject:
    errors: JsonObject = {"errors": [list(map(_fourth, tried)) for tried in issue.tried]} if issue.tried else {}
    return {**issue.facts, **errors, "path": list(issue.path), "message": issue.message}


def _third(issues: Sequence[Issue], place: tuple[Step, ...] = ()) -> Iterator[JsonObject]:
    # Zod 3 looks at nothing more of a value whose type is wrong.
    wrong = {issue.path for issue in issues if issue.facts.get("code") == "invalid_type"}
    for issue in issues:
        if issue.mild and issue.path in wrong:
            continue
        path = (*place, *issue.path)
        if not issue.tried:
            yield in_words_of_zod3(replace(issue, path=path))
            continue
        errors = [{"issues": list(_third(tried, path)), "name": "ZodError"} for tried in issue.tried]
        yield {"code": "invalid_union", "unionErrors": errors, "path": list(path), "message": "Invalid input"}


def _dumped(issues: list[JsonObject]) -> str:
    return json.dumps(issues, indent=2, ensure_ascii=False)
