"""Resources and prompts of a service world, compiled."""

import re
from typing import cast

from simtrain.contracts.handler import Reply, ToolError
from simtrain.contracts.registry import resolve
from simtrain.contracts.world import Offer
from simtrain.files.templates import Text
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.spec import PromptSource, ResourceSource
from simtrain.worlds.service.tool import HandlerCall, prepare_sql

_VARIABLE = re.compile(r"\{([A-Za-z_]\w*)\}")


class Resource:
    """A resource or, if its URI has `{variables}`, a resource template."""

    def __init__(self, source: ResourceSource) -> None:
        """Raises InputError unless the source has either SQL or a handler."""
        if (source.read is None) == (source.handler is None):
            raise InputError("a resource needs either `read` or `handler`")
        self.source = source
        self.variables = _VARIABLE.findall(source.uri)
        key = "uriTemplate" if self.variables else "uri"
        mime: JsonObject = {"mimeType": source.mime_type} if source.mime_type else {}
        self.offer = Offer(source.server, {key: source.uri, "name": source.name, **mime, **source.descriptor})
        # RFC 6570, level 1: a variable stands for one segment.
        parts = _VARIABLE.split(source.uri)
        pattern = "".join(f"(?P<{part}>[^/]+)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
        self._pattern = re.compile(pattern)
        self._handler = resolve("handlers", source.handler) if source.handler else None

    def check(self, database: Database) -> None:
        """Prepare the SQL. Raises InputError."""
        if self.source.read is not None:
            prepare_sql(database, self.source.read, {*self.variables, "uri", "now", "today"}, Mode.READ, "read")

    def match(self, uri: str) -> dict[str, JsonValue] | None:
        """Return the values of the variables if a URI matches this resource, else None."""
        found = self._pattern.fullmatch(uri)
        return None if found is None else dict(found.groupdict())

    def read(self, database: Database, uri: str, values: dict[str, JsonValue]) -> JsonObject | None:
        """Return the ReadResourceResult; None if no such resource exists. Raises SimulatorFault."""
        about: JsonObject = {"uri": uri, **({"mimeType": self.source.mime_type} if self.source.mime_type else {})}
        if self._handler is not None:
            try:
                reply = self._handler(HandlerCall(database, {**values, "uri": uri}, writes=False))
            except ToolError:
                return None
            if isinstance(reply, Reply):
                contents = [dict(block) for block in reply.blocks] or [{**about, "text": reply.text}]
                return {"contents": contents}
            return {"contents": [{**about, **reply}]}
        known = {**values, "uri": uri, "now": database.moment, "today": database.moment[:10]}
        row = database.first(cast(str, self.source.read), known)
        return None if row is None else {"contents": [{**about, "text": "" if row[0] is None else str(row[0])}]}


class Prompt:
    """A prompt: a text with the arguments filled in, or a handler."""

    def __init__(self, source: PromptSource) -> None:
        """Raises InputError unless the source has either a text or a handler, and for a text with an unknown argument."""
        if (source.text is None) == (source.handler is None):
            raise InputError("a prompt needs either `text` or `handler`")
        self.source = source
        self.offer = Offer(source.server, _prompt_descriptor(source))
        self.arguments = {argument.name: argument.required for argument in source.arguments}
        self._text = Text(source.text) if source.text is not None else None
        for name in sorted(self._text.names - set(self.arguments)) if self._text else ():
            raise InputError(f"the text names {name!r}, which is not an argument", place="text")
        self._handler = resolve("handlers", source.handler) if source.handler else None

    def fill(self, database: Database, arguments: JsonObject) -> JsonObject:
        """Return the GetPromptResult. Raises ToolError for a missing argument, SimulatorFault if the handler returns something else."""
        for name, required in self.arguments.items():
            if required and name not in arguments:
                raise ToolError(f"Missing required argument: {name}")
        values: JsonObject = {**dict.fromkeys(self.arguments), **arguments}
        described: JsonObject = {"description": self.source.description} if self.source.description else {}
        if self._text is not None:
            text = self._text.render(values)
            return {**described, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        assert self._handler is not None
        reply = self._handler(HandlerCall(database, values, writes=False))
        if isinstance(reply, Reply):
            raise SimulatorFault(f"the handler of the prompt {self.source.name} must return the GetPromptResult")
        return reply


def _prompt_descriptor(source: PromptSource) -> JsonObject:
    arguments = [
        argument.model_dump(exclude=None if argument.description else {"description"}) for argument in source.arguments
    ]
    described = {"name": source.name, "description": source.description, "arguments": arguments}
    return {**{key: value for key, value in described.items() if value}, **source.descriptor}
