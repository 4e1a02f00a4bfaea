"""The tools of @playwright/mcp 0.0.83 as data, and the wording of its replies."""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import orjson

from simtrain.values.types import JsonObject

# How long a tool waits for an element to become ready, in ms, before it gives up.
PATIENCE_MS = 5_000


@lru_cache(maxsize=1)
def playwright_tools() -> tuple[JsonObject, ...]:
    """The 25 tools as the server lists them: name, description, schema and annotations."""
    return tuple(_captured()["tools"])


def server_info() -> JsonObject:
    """What the server says of itself when a client connects."""
    return _captured()["server"]


@lru_cache(maxsize=1)
def _captured() -> JsonObject:
    return orjson.loads(files("simtrain.worlds.app.accessibility").joinpath("playwright_tools.json").read_bytes())


def page_section(url: str, title: str = "", *, status: str = "") -> str:
    """The section that says where the tab is; `status` such as `404 Not Found` is said of a page that failed."""
    lines = ["### Page", f"- Page URL: {url}"]
    if title:
        lines.append(f"- Page Title: {title}")
    if status:
        lines.append(f"- HTTP status: {status}")
    return "\n".join(lines)


def code_section(code: str) -> str:
    """The section that shows the code of Playwright that was run."""
    return f"### Ran Playwright code\n```js\n{code}\n```"


def snapshot_section(snapshot: str) -> str:
    """The section with a snapshot in full, as `browser_snapshot` gives it."""
    return f"### Snapshot\n```yaml\n{snapshot}\n```"


def snapshot_link(file: str) -> str:
    """The section that only names the file of a snapshot, as all other tools give it."""
    return f"### Snapshot\n- [Snapshot]({file})"


def result_section(text: str) -> str:
    """The section with what a tool found."""
    return f"### Result\n{text}"


def dialog_section(kind: str, message: str) -> str:
    """The section that says which dialog of the page waits for an answer: `alert`, `confirm` or `prompt`."""
    return f'### Modal state\n- ["{kind}" dialog with message "{message}"]: can be handled by browser_handle_dialog'


def chooser_section() -> str:
    """The section that says that a file chooser is open."""
    return "### Modal state\n- [File chooser]: can be handled by browser_file_upload"


def reply(*sections: str) -> str:
    """A reply of these sections, in the server's order: result, code, page, modal state, snapshot, events."""
    return "\n".join(section for section in sections if section)


def error(text: str, *sections: str) -> str:
    """The reply to a call that failed."""
    return "\n".join([f"### Error\n{text}", *sections])


def ref_not_found(ref: str) -> str:
    """The error for a ref that is not in the last snapshot."""
    return f"Error: Ref {ref} not found in the current page snapshot. Try capturing new snapshot."


def modal_in_the_way(tool: str) -> str:
    """The error of a tool that cannot be used while a dialog or a file chooser is open."""
    return f'Error: Tool "{tool}" does not handle the modal state.'


def nothing_modal(tool: str) -> str:
    """The error of a tool that answers a dialog or a file chooser where none is open."""
    return f'Error: The tool "{tool}" can only be used when there is related modal state present.'


def tab_not_found(index: int) -> str:
    """The error for a tab that does not exist."""
    return f"Error: Tab {index} not found"


def unknown_tool(name: str) -> str:
    """The error for a tool that does not exist."""
    return f'Tool "{name}" not found'


def unreachable(url: str, reason: str) -> str:
    """The error for an address that cannot be loaded; `reason` is such as `ERR_NAME_NOT_RESOLVED`."""
    log = f'\x1b[2m  - navigating to "{url}", waiting until "domcontentloaded"\x1b[22m'
    return f"Error: browserBackend.callTool: net::{reason} at {url}\nCall log:\n{log}\n"


def never_enabled(ref: str, tag: str, action: str = "click") -> str:
    """The error of an action that waited for an element to be enabled; `tag` is the element as the log shows it."""
    return timed_out(ref, tag, action, "visible, enabled and stable", "element is not enabled")


def never_had_option(ref: str, tag: str) -> str:
    """The error of choosing an option that a select does not have."""
    return timed_out(ref, tag, "select option", "visible and enabled", "did not find some options")


def timed_out(ref: str, tag: str, action: str, wanted: str, reason: str) -> str:
    """The error of an action that waited in vain, with the log of its tries."""
    tries = [
        f"  - waiting for locator('aria-ref={ref}')",
        f"    - locator resolved to {tag}",
        f"  - attempting {action} action",
    ]
    for count, indent, pause in ((2, "    ", 20), (2, "    ", 100), (10, "    ", 500)):
        shift = "" if count == 2 else " "
        tries.append(f"{indent}{count} × waiting for element to be {wanted}")
        tries.append(f"{indent}{shift}  - {reason}")
        tries.append(f"{indent}{shift}- retrying {action} action")
        tries.append(f"{indent}{shift}{'' if pause == 20 else '  '}- waiting {pause}ms")
    log = "\n".join(f"\x1b[2m{line}\x1b[22m" for line in tries)
    return f"TimeoutError: browserBackend.callTool: Timeout {PATIENCE_MS}ms exceeded.\nCall log:\n{log}\n"


def tab_list(tabs: Sequence[tuple[str, str]], current: int) -> str:
    """The open tabs, each by title and address."""
    return "\n".join(
        f"- {index}: {'(current) ' if index == current else ''}[{title}]({url})"
        for index, (title, url) in enumerate(tabs)
    )


def by_role(role: str, name: str) -> str:
    """The locator that the server shows for a node with a name."""
    quoted = json.dumps(name, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"getByRole('{role}', {{ name: '{quoted}' }})" if name else f"getByRole('{role}')"
