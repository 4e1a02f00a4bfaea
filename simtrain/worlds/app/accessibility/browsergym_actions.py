"""The actions of BrowserGym as data, and the parser of what a model writes to call them. Nothing of it is ever run."""

import ast
import warnings
from dataclasses import dataclass

from simtrain.values.python_source import parsed_python
from simtrain.values.types import JsonObject, JsonValue

_LONGEST = 20_000
_MOST_CALLS = 50

_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "number"}
_TEXTS: JsonObject = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_BUTTON: JsonObject = {"type": "string", "enum": ["left", "middle", "right"]}
_MODIFIERS: JsonObject = {
    "type": "array",
    "items": {"type": "string", "enum": ["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]},
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an action: its schema, and its default, if it may be left out."""

    name: str
    schema: JsonObject
    default: JsonValue = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class GymAction:
    """An action: what it does, and its arguments in order."""

    name: str
    description: str
    arguments: tuple[Argument, ...] = ()

    def schema(self) -> JsonObject:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {
                argument.name: argument.schema | ({"default": argument.default} if argument.optional else {})
                for argument in self.arguments
            },
            "required": [argument.name for argument in self.arguments if not argument.optional],
            "additionalProperties": False,
        }

    def signature(self) -> str:
        """Its call as BrowserGym describes it."""
        parts = [f"{each.name}={each.default!r}" if each.optional else each.name for each in self.arguments]
        return f"{self.name}({', '.join(parts)})"


_BID = Argument("bid", _TEXT)
_CLICKING = (_BID, Argument("button", _BUTTON, "left", True), Argument("modifiers", _MODIFIERS, [], True))

# The default set of browsergym-core 0.14.3, and `keyboard_press`, which its sets for WebArena add.
ACTIONS: dict[str, GymAction] = {
    action.name: action
    for action in (
        GymAction("noop", "Wait, in ms.", (Argument("wait_ms", _NUMBER, 1000, True),)),
        GymAction("send_msg_to_user", "Send a message to the user.", (Argument("text", _TEXT),)),
        GymAction(
            "report_infeasible", "Tell the user that the task cannot be done, and why.", (Argument("reason", _TEXT),)
        ),
        GymAction(
            "scroll", "Turn the mouse wheel, in pixels.", (Argument("delta_x", _NUMBER), Argument("delta_y", _NUMBER))
        ),
        GymAction("fill", "Replace what a field holds.", (_BID, Argument("value", _TEXT))),
        GymAction(
            "select_option",
            "Choose one or more options of a list, by value or label.",
            (_BID, Argument("options", _TEXTS)),
        ),
        GymAction("click", "Click an element.", _CLICKING),
        GymAction("dblclick", "Double-click an element.", _CLICKING),
        GymAction("hover", "Move the mouse over an element.", (_BID,)),
        GymAction("press", "Focus an element and press keys, such as Control+a.", (_BID, Argument("key_comb", _TEXT))),
        GymAction("focus", "Focus an element.", (_BID,)),
        GymAction("clear", "Empty a field.", (_BID,)),
        GymAction(
            "drag_and_drop", "Drag one element onto another.", (Argument("from_bid", _TEXT), Argument("to_bid", _TEXT))
        ),
        GymAction("upload_file", "Give one or more files to an element.", (_BID, Argument("file", _TEXTS))),
        GymAction("keyboard_press", "Press keys where the focus is, such as PageDown.", (Argument("key", _TEXT),)),
        GymAction("go_back", "Go to the previous page."),
        GymAction("go_forward", "Go to the next page."),
        GymAction("goto", "Go to an address.", (Argument("url", _TEXT),)),
        GymAction("tab_close", "Close the tab in front."),
        GymAction(
            "tab_focus", "Bring a tab to the front, by its number from 0.", (Argument("index", {"type": "integer"}),)
        ),
        GymAction("new_tab", "Open a tab and bring it to the front."),
    )
}


@dataclass(frozen=True, slots=True)
class GymCall:
    """A call that a model wrote, with all its arguments by name."""

    action: str
    arguments: JsonObject


class GymActionError(ValueError):
    """What a model wrote cannot be carried out. The message is the one that BrowserGym shows, with the type of error before it."""


def bid_not_found(bid: JsonValue) -> str:
    """The error for a bid that is not on the page, or is no text."""
    if not isinstance(bid, str):
        return f"ValueError: expected a string, got {bid!r}"
    return f'ValueError: Could not find element with bid "{bid}"'


def parse_actions(text: str, *, several: bool = True) -> list[GymCall]:
    """Read the calls in what a model wrote, in order; prose and code fences around them are passed over.

    Raises GymActionError where there is none, where one is unknown or lacks arguments, or where there are several and only one is allowed.
    """
    calls = _calls(text[:_LONGEST])
    if not calls:
        raise GymActionError("ValueError: Received an empty action.")
    if len(calls) > 1 and not several:
        raise GymActionError("ValueError: Received a multi-action, only single-actions are allowed.")
    return [_bound(call) for call in calls[:_MOST_CALLS]]


def _calls(text: str) -> list[ast.Call]:
    """The calls with literal arguments that stand on lines of their own."""
    whole = _statements(text)
    if whole is not None:
        return [call for call in whole if call is not None]
    found: list[ast.Call] = []
    lines = text.splitlines()
    start = 0
    while start < len(lines):
        # A text between triple quotes goes on over lines.
        for end in range(start + 1, min(start + 40, len(lines)) + 1):
            inner = _statements("\n".join(lines[start:end]).strip().strip("`"))
            if inner and all(call is not None for call in inner):
                found.extend(call for call in inner if call is not None)
                start = end - 1
                break
            if "(" not in lines[start]:
                break
        start += 1
    return found


def _statements(text: str) -> list[ast.Call | None] | None:
    """The statements of a text as calls, None for one that is none; None where it is no Python at all."""
    try:
        with warnings.catch_warnings():
            # An unknown escape, such as one of a regular expression, is no error of ours.
            warnings.simplefilter("ignore")
            module = parsed_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return [_as_call(statement) for statement in module.body]


def _as_call(statement: ast.stmt) -> ast.Call | None:
    if (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
    ):
        return statement.value
    return None


def _bound(call: ast.Call) -> GymCall:
    """The call with its arguments by name, as Python binds them."""
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    action = ACTIONS.get(name)
    if action is None:
        raise GymActionError(f"NameError: Invalid action type '{name}'.")
    if len(call.args) > len(action.arguments):
        most = f"{len(action.arguments)} positional argument{'' if len(action.arguments) == 1 else 's'}"
        raise GymActionError(f"TypeError: {name}() takes {most} but {len(call.args)} were given")
    given: JsonObject = {
        argument.name: _literal(value) for argument, value in zip(action.arguments, call.args, strict=False)
    }
    for keyword in call.keywords:
        if keyword.arg in given:
            raise GymActionError(f"TypeError: {name}() got multiple values for argument '{keyword.arg}'")
        if keyword.arg is None or keyword.arg not in {argument.name for argument in action.arguments}:
            raise GymActionError(f"TypeError: {name}() got an unexpected keyword argument '{keyword.arg}'")
        given[keyword.arg] = _literal(keyword.value)
    missing = [argument.name for argument in action.arguments if not argument.optional and argument.name not in given]
    if missing:
        plural = "" if len(missing) == 1 else "s"
        named = " and ".join(f"'{each}'" for each in missing)
        raise GymActionError(
            f"TypeError: {name}() missing {len(missing)} required positional argument{plural}: {named}"
        )
    return GymCall(name, {each.name: given.get(each.name, each.default) for each in action.arguments})


def _literal(node: ast.expr) -> JsonValue:
    """The value of an argument; texts, numbers, lists of them, True, False and None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _literal(node.operand)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return -number
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(element) for element in node.elts]
    raise GymActionError("ValueError: Received an empty action.")
