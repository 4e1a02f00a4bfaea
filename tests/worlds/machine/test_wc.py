"""wc, against the machine's own."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.machines import run

FILES = {
    "a": b"one two\nthree\n",
    "b": "äö\tx\n\nlonger line here\nno end".encode(),
    "c": b"\x01 \x02 a\x03\n\xff\xfe z\r\nlong\x0cq\t\tz",
    "e": b"",
    "u": "日本 語\u3000x\u00a0y\u2003z\n".encode(),
}
LINES = (
    "cat a | wc", "wc a b", "wc -c a", "wc -L b", "wc -lm b", "wc a nosuch", "wc .", "wc -z", "cat a | wc -l -",
    "wc --lines a", "wc *", "wc -lwmcL *", "wc nosuch nosuch2", "wc a . b", "cat a | wc - b", "cat u | wc -w",
    "wc --max a", "wc -L u",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_wc_counts_and_refuses_as_the_real_one(line: str, tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    real = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, check=False
    )
    ours = run(line, {f"/home/ann/{name}": content for name, content in FILES.items()})
    assert (ours.stdout, ours.stderr, ours.exit_code) == (real.stdout.decode(), real.stderr.decode(), real.returncode)
