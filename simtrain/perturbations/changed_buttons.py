"""Buttons of an app that are called otherwise, or lie elsewhere, than they did."""

from typing import ClassVar, Literal

from pydantic import Field
from selectolax.lexbor import LexborNode

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import OnPages, app_of, can_change, look, shows_page
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.app.browser.nodes import attribute, has, put, write_text
from simtrain.worlds.app.world import AppState

_DONE = "simtrain-changed"
_COMPONENTS = ("role", "data-close", "data-dismiss", "data-cancel", "data-opens")
_WORDS = {
    "accept": "Approve", "add": "Insert", "apply": "Update view", "apply voucher": "Redeem", "archive": "Put away",
    "cancel": "Call off", "change": "Adjust", "close": "Finish", "comment": "Reply", "compose": "Write",
    "create": "Set up", "delete": "Remove", "discard": "Throw away", "edit": "Modify", "file": "Register",
    "find": "Look up", "forward": "Pass on", "hide": "Conceal", "lend": "Borrow", "make": "Create", "mark": "Flag",
    "move": "Transfer", "place": "Confirm", "post": "Publish", "publish": "Release", "refund": "Pay back",
    "register": "Record", "reject": "Decline", "remove": "Take away", "reply": "Answer", "restore": "Bring back",
    "save": "Keep", "search": "Look up", "send": "Submit", "sign": "Log", "take": "Withdraw", "unblock": "Free",
}  # fmt: skip
"""First words of buttons, in lower case, with another word for the same deed."""


class ChangedButtons(OnPages):
    """From the page on which it fires, buttons have other names, or lie in a menu; they do what they did.

    Source: what public sites do after a redesign. An agent should look for the button that does what it wants, by its
    place and meaning. It fires where an agent looks at a page with such buttons.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", recoverable_by=("cross-check", "retry"), needs_world=True, follows="fired", page=True
    )
    example: ClassVar[JsonObject] = {"with": {"how": "renamed"}}

    how: Literal["renamed", "moved"] | None = Field(
        default=None,
        description="Whether buttons have other names, or lie in a menu that must be opened; unset, drawn.",
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Change the buttons of the page that a call shows."""
        how = call.memory.get("how") or self.how or call.rng.choose(("renamed", "moved"))
        return await self._shown(call, proceed, how)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Change the buttons of further pages."""
        how = call.memory.get("how")
        return await self._shown(call, proceed, how) if how else await proceed(call.request)

    async def _shown(self, call: Call, proceed: Answer, how: str) -> Observation:
        reply = await proceed(call.request)
        app = app_of(call)
        if app is None or not shows_page(call.request) or not can_change(app, reply):
            return reply
        if not (_rename if how == "renamed" else _move)(app):
            return reply
        call.memory["how"] = how
        return self.signed(look(app, call.request))


def _buttons(app: AppState) -> list[LexborNode]:
    """Return the buttons of the main part of the page that were not changed yet, and that are no part of a component."""
    found = app.browser.page.document.css("main button")
    return [node for node in found if not has(node, _DONE) and not any(has(node, name) for name in _COMPONENTS)]


def _rename(app: AppState) -> bool:
    renamed = False
    for node in _buttons(app):
        label = attribute(node, "aria-label")
        text = " ".join((label or node.text(deep=True)).split())
        first, _, rest = text.partition(" ")
        word = _WORDS.get(text.lower()) or _WORDS.get(first.lower())
        put(node, _DONE, "")
        if word is None:
            continue
        new = word if text.lower() in _WORDS else f"{word} {rest}"
        if label is None:
            write_text(node, new)
        else:
            put(node, "aria-label", new)
        renamed = True
    if renamed:
        app.browser.page.touch()
    return renamed


def _move(app: AppState) -> bool:
    """Put the buttons that send forms into menus."""
    page, moved = app.browser.page, False
    while (node := next((one for one in _buttons(app) if _sends(one)), None)) is not None:
        parent = node.parent
        if parent is None:
            break
        put(node, _DONE, "")
        html = node.html or ""
        parent.inner_html = (parent.inner_html or "").replace(
            html, f"<details><summary>More actions</summary>{html}</details>", 1
        )
        moved = True
    if moved:
        page.touch()
    return moved


def _sends(node: LexborNode) -> bool:
    return attribute(node, "type") != "button"
