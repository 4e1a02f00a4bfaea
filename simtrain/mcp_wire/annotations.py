"""Checks the annotations of a tool's descriptor: a title and four hints, with the types that official clients require."""

from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def flaw_of(descriptor: JsonObject) -> str | None:
    """Return the problem with the title and annotations of a descriptor, in a few words; None if there is none.

    Official clients check these types and list no tool at all if one is wrong. Annotations with other names are free.
    """
    annotations = descriptor.get("annotations", {})
    if not is_object(annotations):
        return f"the annotations are {_shown(annotations)}, not an object"
    for hint in HINTS:
        if hint in annotations and not isinstance(annotations[hint], bool):
            return f"the annotation {hint!r} is {_shown(annotations[hint])}, neither true nor false"
    for place, holder in (("title", descriptor), ("annotation 'title'", annotations)):
        if "title" in holder and not isinstance(holder["title"], str):
            return f"the {place} is {_shown(holder['title'])}, not a text"
    return None


def _shown(value: JsonValue) -> str:
    return "an object" if is_object(value) else "a list" if is_list(value) else repr(value)[:60]
