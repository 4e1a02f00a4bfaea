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
