"""The web domain: how actions in a browser, and the pages that they lead to, are written for a language world model."""

import re
from typing import ClassVar

from simtrain.contracts.drawing import Drawing, TextDrawing
from simtrain.contracts.request import Request
from simtrain.values.types import Action, Observation
from simtrain.world_models.domains.mcp import ERROR, McpDomain
from simtrain.world_models.domains.predictions import HEADER

_TASK = f"""\
You are a browser with a web application in it, as an agent meets them that acts through the tools below. For each action you write
exactly what the tool would return, and nothing else.

How to answer:
- Begin with the line {HEADER} and put the result below it. No thinking, no comment.
- A snapshot is the accessibility tree of the page as text: one line a node, indented by two spaces, with role, name in quotes, states
  and a ref in brackets. Refs of one page stay with their elements; after a navigation all are new.
- An action acts on the page that is open. A link or a form leads to the page that the application would show, and what was typed,
  ticked or sent before stays in force until it is changed. An action that only looks changes nothing.
- The application checks what it is sent, as such applications do: a field that is missing or wrong is named beside the field, a thing
  that may not be done is refused by a message, a dialog or an error page.
- A ref or target that is not on the page, a disabled or hidden element, and a dialog that has not been answered are told by one line
  that begins with "{ERROR.strip()}" and says why.
- Keep to the state. What an earlier page showed stays true until an action changes it. Never mention that the application is simulated."""

_REF = re.compile(r"\[ref=((?:f\d+)?e\d+)\]")


class WebDomain(McpDomain):
    """A browser: actions on pages, and pages as accessibility trees."""

    task: ClassVar[str] = _TASK

    def parse(self, text: str, request: Request) -> Observation:
        """Return the observation in a prediction.

        Raises ValueError with the reason for anything that the MCP domain refuses, and for a ref that stands at two elements.
        """
        observation = super().parse(text, request)
        refs = _REF.findall(observation.text)
        twice = next((ref for place, ref in enumerate(refs) if ref in refs[:place]), None)
        if twice is not None:
            raise ValueError(f"the ref {twice} stands at two elements")
        return observation

    def draw(self, action: Action, observation: Observation) -> Drawing:
        """Return a page as its outline."""
        return [TextDrawing(observation.text)]
