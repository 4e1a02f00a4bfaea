"""What the conformance fixture says: tools, resources and prompts by the names and with the contents that the suite asks for."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

INFO = {"name": "conformance-fixture", "version": "1.0.0"}
KEY = b"a key of the fixture"

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


class Fault(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass
class Reply:
    """A raw result."""

    result: dict[str, Any]


@dataclass
class Ask:
    """Questions to the client, by key, and the reply to its answers."""

    questions: dict[str, Any]
    then: Callable[[dict[str, Any]], Reply]
    state: str | None = None


def text(words: str, **more: Any) -> Reply:
    return Reply({"content": [{"type": "text", "text": words}], **more})


def image() -> dict[str, Any]:
    return {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def embedded(uri: str, mime: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


def elicit(message: str, properties: dict[str, Any], *, required: list[str] | None = None) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(words: str, tokens: int = 100) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}
NAME = {"name": {"type": "string"}}


def described(name: str, words: str, properties: dict[str, Any] | None = None, **schema: Any) -> dict[str, Any]:
    given = properties or {}
    return {
        "name": name,
        "description": words,
        "inputSchema": {
            "type": "object",
            "properties": given,
            **({"required": list(given)} if given else {}),
            **schema,
        },
    }


SCHEMA_2020 = {
    "name": "json_schema_2020_12_tool",
    "description": "Tool with JSON Schema 2020-12 features",
    "inputSchema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}

TOOLS = [
    described("test_simple_text", "Says a line."),
    described("test_image_content", "Shows a pixel."),
    described("test_audio_content", "Plays nothing."),
    described("test_embedded_resource", "Holds a resource."),
    described("test_multiple_content_types", "Says, shows and holds."),
    described("test_tool_with_logging", "Logs three lines."),
    described("test_tool_with_progress", "Goes on in three steps."),
    described("test_error_handling", "Always fails."),
    described("test_sampling", "Asks the client's model.", {"prompt": {"type": "string"}}),
    described("test_elicitation", "Asks the client's user.", {"message": {"type": "string"}}),
    described("test_elicitation_sep1034_defaults", "Asks with defaults."),
    described("test_elicitation_sep1330_enums", "Asks with choices."),
    described("test_reconnection", "Hangs up in the middle."),
    SCHEMA_2020,
    described(
        "test_x_mcp_header",
        "Takes an argument that is mirrored in a header.",
        {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
        required=["region"],
    ),
    described("test_missing_capability", "Needs a client with sampling."),
    described("test_trigger_tool_change", "Says that the tools have changed."),
    described("test_trigger_prompt_change", "Says that the prompts have changed."),
    described("test_streaming_elicitation", "Asks over the stream of the call."),
    described("test_logging_tool", "Logs a line."),
    *(
        described(f"test_input_required_result_{name}", "Asks before it answers.")
        for name in (
            "elicitation", "sampling", "list_roots", "request_state", "multiple_inputs", "multi_round", "tampered_state",
            "capabilities",
        )
    ),
]  # fmt: skip
INPUT_SCHEMAS = {found["name"]: found["inputSchema"] for found in TOOLS}

RESOURCES = [
    {"uri": "test://static-text", "name": "Static text", "description": "Some text.", "mimeType": "text/plain"},
    {"uri": "test://static-binary", "name": "Static binary", "description": "A pixel.", "mimeType": "image/png"},
    {"uri": "test://watched-resource", "name": "Watched", "description": "May be watched.", "mimeType": "text/plain"},
]
TEMPLATES = [
    {
        "uriTemplate": "test://template/{id}/data",
        "name": "Template",
        "description": "Data by id.",
        "mimeType": "application/json",
    }
]
PROMPTS = [
    {"name": "test_simple_prompt", "description": "A line."},
    {
        "name": "test_prompt_with_arguments",
        "description": "A line with arguments.",
        "arguments": [
            {"name": "arg1", "description": "First", "required": True},
            {"name": "arg2", "description": "Second", "required": True},
        ],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "Holds a resource.",
        "arguments": [{"name": "resourceUri", "description": "Which", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "Shows a pixel."},
    {"name": "test_input_required_result_prompt", "description": "Asks before it answers."},
]
LISTS = {
    "tools/list": ("tools", TOOLS),
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", TEMPLATES),
    "prompts/list": ("prompts", PROMPTS),
}
NOTES: dict[str, list[tuple[str, Any]]] = {
    "test_tool_with_logging": [
        ("log", {"level": "info", "data": words})
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed")
    ],
    "test_logging_tool": [("log", {"level": "info", "data": "A line"})],
    "test_tool_with_progress": [("progress", (0, 100)), ("progress", (50, 100)), ("progress", (100, 100))],
}


def complete() -> dict[str, Any]:
    return {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}}


def resource(uri: str) -> dict[str, Any]:
    if uri == "test://static-text":
        words = "This is the content of the static text resource."
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": words}]}
    if uri == "test://static-binary":
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]}
    if uri == "test://watched-resource":
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "Watched."}]}
    if uri.startswith("test://template/") and uri.endswith("/data"):
        identity = uri.removeprefix("test://template/").removesuffix("/data")
        words = json.dumps({"id": identity, "templateTest": True, "data": f"Data for ID: {identity}"})
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": words}]}
    raise Fault(-32602, "Resource not found", {"uri": uri})


def prompt(name: str, params: dict[str, Any], *, modern: bool) -> Reply | Ask:
    given = params.get("arguments") or {}

    def said(*contents: Any) -> Reply:
        return Reply({"messages": [{"role": "user", "content": content} for content in contents]})

    def words(line: str) -> dict[str, Any]:
        return {"type": "text", "text": line}

    if name == "test_simple_prompt":
        return said(words("This is a simple prompt for testing."))
    if name == "test_prompt_with_arguments":
        return said(words(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"))
    if name == "test_prompt_with_embedded_resource":
        held = embedded(str(given.get("resourceUri")), "text/plain", "Embedded resource content for testing.")
        return said(held, words("Please process the embedded resource above."))
    if name == "test_prompt_with_image":
        return said(image(), words("Please analyze the image above."))
    if name == "test_input_required_result_prompt":
        question = elicit("What context should the prompt use?", {"context": {"type": "string"}})
        asked = Ask(
            {"user_context": question}, lambda answers: said(words(f"Context: {content(answers, 'user_context')}"))
        )
        return answered(asked, params) if modern else asked
    raise Fault(-32602, f"Unknown prompt: {name}")


def content(answers: dict[str, Any], key: str) -> Any:
    return (answers.get(key) or {}).get("content")


def answered(asked: Ask, params: dict[str, Any]) -> Reply | Ask:
    """The reply where the client's answers are there and well made; else the questions once more."""
    given = params.get("inputResponses")
    if not isinstance(given, dict) or any(not isinstance(given.get(key), dict) for key in asked.questions):
        return asked
    if asked.state is not None and params.get("requestState") != asked.state:
        raise Fault(-32602, "Invalid or expired requestState")
    return asked.then(given)


def sealed(words: str) -> str:
    return f"{words}.{hmac.new(KEY, words.encode(), hashlib.sha256).hexdigest()}"


SIMPLE: dict[str, Reply] = {
    "test_simple_text": text("This is a simple text response for testing."),
    "test_image_content": Reply({"content": [image()]}),
    "test_audio_content": Reply({"content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}]}),
    "test_embedded_resource": Reply(
        {"content": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]}
    ),
    "test_multiple_content_types": Reply(
        {
            "content": [
                {"type": "text", "text": "Multiple content types test:"},
                image(),
                embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
            ]
        }
    ),
    "test_tool_with_logging": text("Logged."),
    "test_logging_tool": text("Logged."),
    "test_tool_with_progress": text("Done."),
    "test_error_handling": text("This tool intentionally returns an error for testing", isError=True),
    "test_reconnection": text("Welcome back."),
    "json_schema_2020_12_tool": text("ok"),
    "test_trigger_tool_change": text("Changed."),
    "test_trigger_prompt_change": text("Changed."),
}

DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
CHOICES = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [
            {"const": "value1", "title": "First Option"},
            {"const": "value2", "title": "Second Option"},
            {"const": "value3", "title": "Third Option"},
        ],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {
        "type": "array",
        "items": {
            "anyOf": [
                {"const": "value1", "title": "First Choice"},
                {"const": "value2", "title": "Second Choice"},
                {"const": "value3", "title": "Third Choice"},
            ]
        },
    },
}


def tool(name: str, params: dict[str, Any], capabilities: dict[str, Any], *, modern: bool) -> Reply | Ask:
    """What a tool says, or what it asks first."""
    given = params.get("arguments") or {}
    if name in SIMPLE:
        return SIMPLE[name]
    if name == "test_x_mcp_header":
        return text(f"region={given.get('region')}")
    if name == "test_missing_capability":
        if "sampling" not in capabilities:
            raise Fault(-32021, "Client must support sampling", {"requiredCapabilities": {"sampling": {}}})
        return text("Sampling is there.")
    asked = asking(name, given, params, capabilities)
    if asked is None:
        raise Fault(-32602, f"Unknown tool: {name}")
    return answered(asked, params) if modern and not isinstance(asked, Reply) else asked


def asking(
    name: str, given: dict[str, Any], params: dict[str, Any], capabilities: dict[str, Any]
) -> Ask | Reply | None:
    def user(answers: dict[str, Any], key: str = "user") -> str:
        return f"action={(answers[key]).get('action')}, content={json.dumps(content(answers, key))}"

    kind = name.removeprefix("test_input_required_result_")
    if name == "test_sampling":
        question = sample(str(given.get("prompt")))
        return Ask({"model": question}, lambda got: text(f"LLM response: {content(got, 'model').get('text')}"))
    if name in ("test_elicitation", "test_streaming_elicitation"):
        fields = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        question = elicit(str(given.get("message", "Who are you?")), fields)
        return Ask({"user": question}, lambda got: text(f"User response: {user(got)}"))
    if name == "test_elicitation_sep1034_defaults":
        question = elicit("Please fill this in", DEFAULTS, required=[])
        return Ask({"user": question}, lambda got: text(f"Elicitation completed: {user(got)}"))
    if name == "test_elicitation_sep1330_enums":
        question = elicit("Please choose", CHOICES, required=[])
        return Ask({"user": question}, lambda got: text(f"Elicitation completed: {user(got)}"))
    if kind == "elicitation":
        question = elicit("What is your name?", NAME)
        return Ask(
            {"user_name": question}, lambda got: text(f"Hello, {(content(got, 'user_name') or {}).get('name')}!")
        )
    if kind == "sampling":
        question = sample("What is the capital of France?")
        return Ask({"capital_question": question}, lambda got: text(str(content(got, "capital_question"))))
    if kind == "list_roots":
        return Ask({"client_roots": ROOTS}, lambda got: text(json.dumps(got["client_roots"].get("roots"))))
    if kind in ("request_state", "tampered_state"):
        question = elicit("Please confirm", {"ok": {"type": "boolean"}})
        return Ask({"confirm": question}, lambda got: text("state-ok"), sealed(kind))
    if kind == "multiple_inputs":
        questions = {
            "user_name": elicit("What is your name?", NAME),
            "greeting": sample("Generate a greeting", 50),
            "client_roots": ROOTS,
        }
        return Ask(questions, lambda got: text(f"All of {', '.join(questions)}"), sealed(kind))
    if kind == "multi_round":
        if params.get("requestState") in (None, sealed("round 1")) and "step1" not in (
            params.get("inputResponses") or {}
        ):
            return Ask(
                {"step1": elicit("Step 1: What is your name?", NAME)}, lambda got: text("Step 1"), sealed("round 1")
            )
        color = {"color": {"type": "string"}}
        return Again(
            {"step2": elicit("Step 2: What is your favorite color?", color)},
            lambda got: text("Done."),
            sealed("round 2"),
        )
    if kind == "capabilities":
        questions = {}
        if "sampling" in capabilities:
            questions["model"] = sample("Say something")
        if "elicitation" in capabilities:
            questions["user"] = elicit("What is your name?", NAME)
        return Ask(questions, lambda got: text("Asked what can be asked.")) if questions else text("Nothing to ask.")
    return None


class Again(Ask):
    """The second round of two: it comes with the state of the first one."""
