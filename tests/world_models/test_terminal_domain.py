"""The terminal domain: what a language world model reads and writes of a shell."""

import pytest

from simtrain.contracts.drawing import TextDrawing
from simtrain.contracts.request import Request
from simtrain.values.types import Action, Observation, ToolSpec, arguments_of
from simtrain.world_models.domains.predictions import HEADER
from simtrain.world_models.domains.terminal import TerminalDomain

TOOL = ToolSpec("bash", "A shell.", arguments_of(("command",), command={"type": "string"}), writes=True)


def ask(command: str) -> Request:
    return Request(TOOL, {"command": command}, 0, 0)


def test_a_command_is_written_as_it_is_typed() -> None:
    written = TerminalDomain().write_action(ask("ls -l\npwd"), turn=3)
    assert written == "### Turn 3\n\n**Action:**\n```bash\nls -l\npwd\n```"


def test_an_observation_that_was_written_is_parsed_as_the_same_text() -> None:
    domain = TerminalDomain()
    for text in ("a.txt\nb.txt", "cat: x: No such file or directory\n[exit code 1]", ""):
        parsed = domain.parse(domain.write_observation(Observation(text)), ask("ls"))
        assert parsed.text == text and not parsed.is_error


def test_the_exit_code_is_taken_from_the_last_line() -> None:
    parsed = TerminalDomain().parse(f"{HEADER}\nls: cannot access 'x'\n[exit code 2]", ask("ls x"))
    assert parsed.structured == {"stdout": "ls: cannot access 'x'", "stderr": "", "exit_code": 2}
    assert TerminalDomain().parse(f"{HEADER}\nfine", ask("ls")).structured == {
        "stdout": "fine",
        "stderr": "",
        "exit_code": 0,
    }


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        ("", "it is empty"),
        (f"{HEADER}\nann@web1:~$ ls -l\ntotal 0", "repeats the prompt"),
        (f"{HEADER}\nls -l", "repeats the command"),
        (f"{HEADER}\nx\n[exit code 900]", "no exit code"),
        (f"{HEADER}\n<|im_start|> x", "mark"),
    ],
)
def test_a_prediction_that_is_no_terminal_text_is_refused(prediction: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TerminalDomain().parse(prediction, ask("ls -l"))


def test_a_reply_is_drawn_as_a_screen() -> None:
    observation = Observation(
        "one\ntwo", structured={"stdout": "one\ntwo\n", "stderr": "", "exit_code": 0, "prompt": "ann@web1:~$ "}
    )
    drawing = TerminalDomain().draw(
        Action("1", "bash", {"command": "for x in one two; do\necho $x; done"}), observation
    )
    assert drawing == [TextDrawing("ann@web1:~$ for x in one two; do\n> echo $x; done\none\ntwo")]


KEYS = ToolSpec("keystrokes", "A terminal.", arguments_of(("commands",), commands={"type": "array"}), writes=True)
TYPED = [{"keystrokes": "ls\n", "duration": 1}, {"keystrokes": "C-c"}]


def keys(*entries: str) -> Request:
    return Request(KEYS, {"commands": [{"keystrokes": entry} for entry in entries]}, 0, 0)


def typed() -> Request:
    return Request(KEYS, {"commands": TYPED}, 0, 0)


def test_keystrokes_are_written_as_an_array_and_the_task_speaks_of_a_screen() -> None:
    domain = TerminalDomain()
    assert domain.write_action(typed(), turn=2).endswith(
        '```json\n[{"keystrokes":"ls\\n","duration":1},{"keystrokes":"C-c"}]\n```'
    )
    assert "screen" in domain.system_prompt([KEYS]) and "screen" not in domain.system_prompt([TOOL])


def test_a_predicted_screen_is_parsed_with_its_cursor() -> None:
    found = TerminalDomain().parse(f"{HEADER}\nann@oak:~$ ls\na.txt\nann@oak:~$ ca", typed())
    assert found.text == "ann@oak:~$ ls\na.txt\nann@oak:~$ ca"
    assert found.structured == {"screen": found.text, "cursor": [2, 13], "running": False}
    working = TerminalDomain().parse(f"{HEADER}\nann@oak:~$ ping oak\n64 bytes from oak", typed())
    assert working.structured is not None and working.structured["running"] is True
    waiting = TerminalDomain().parse(f"{HEADER}\nann@oak:~$ sleep 9", keys("sleep 9\n", ""))
    assert waiting.structured is not None and waiting.structured["running"] is True
    edited = TerminalDomain().parse(f"{HEADER}\nann@oak:~$ sleep 9", keys("sleep 9"))
    assert edited.structured is not None and edited.structured["running"] is False


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        ("\n".join(map(str, range(41))), "41 lines"),
        ('[{"keystrokes":"ls\\n","duration":1},{"keystrokes":"C-c"}]', "repeats"),
    ],
)
def test_a_prediction_that_is_no_screen_is_refused(prediction: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TerminalDomain().parse(f"{HEADER}\n{prediction}", typed())


def test_a_screen_is_drawn_with_its_cursor() -> None:
    shown = Observation("$ ls", structured={"screen": "$ ls", "cursor": [1, 2], "running": True})
    action = Action("c", "keystrokes", {"commands": TYPED})
    assert TerminalDomain().draw(action, shown) == [TextDrawing("$ ls\n  \N{FULL BLOCK}")]
    assert TerminalDomain().draw(action, Observation("cut")) == [TextDrawing("cut")]
