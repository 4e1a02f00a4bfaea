"""Dockerfiles are interpreted as far as they can be without Docker; everything else is refused with its line."""

import re
from pathlib import Path

import pytest
from harbor_folders import write_harbor

from simtrain.contracts.sandbox_runs import File, Folder, SymbolicLink
from simtrain.values.errors import InputError
from simtrain.worlds.sandbox.dockerfile import ContainerImage, read_dockerfile

CONTEXT = {"a.txt": "a\n", "b.txt": "b\n", "src/main.py": "m\n", "src/lib/one.py": "1\n", "run.sh": "#!/bin/sh\n"}


def image(folder: Path, text: str) -> ContainerImage:
    write_harbor(folder, {**CONTEXT, "Dockerfile": text})
    (folder / "run.sh").chmod(0o755)
    return read_dockerfile(folder / "Dockerfile")


def files(found: ContainerImage) -> list[str]:
    return sorted(path for path, entry in found.files.items() if not isinstance(entry, Folder))


@pytest.mark.parametrize(
    ("lines", "paths"),
    [
        ("COPY a.txt /srv/", ["/srv/a.txt"]),
        ("COPY a.txt /srv/other.txt", ["/srv/other.txt"]),
        ("COPY a.txt b.txt ./", ["/app/a.txt", "/app/b.txt"]),
        ("COPY *.txt .", ["/app/a.txt", "/app/b.txt"]),
        # What is in a folder is copied, and not the folder.
        ("COPY src /code", ["/code/lib/one.py", "/code/main.py"]),
        ("COPY src/ src/", ["/app/src/lib/one.py", "/app/src/main.py"]),
        ("COPY --chown=app:app --chmod=600 a.txt x", ["/app/x"]),
        ("WORKDIR sub\nCOPY a.txt .", ["/app/sub/a.txt"]),
        ("ENV AT=/data\nCOPY a.txt ${AT}/$AT/", ["/data/data/a.txt"]),
        ("copy \\\n  # between\n  a.txt \\\n  b.txt /t/", ["/t/a.txt", "/t/b.txt"]),
    ],
)
def test_copies_lie_where_docker_puts_them(tmp_path: Path, lines: str, paths: list[str]) -> None:
    assert files(image(tmp_path, f"# a comment\nFROM python:3.12-slim AS main\nWORKDIR /app\n{lines}\n")) == paths


def test_modes_links_variables_folder_and_user_are_kept(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("a.txt")
    text = (
        'FROM registry.example:5000/library/debian@sha256:00\nENV A=1 B="two words" C=x$A\nENV OLD the rest of it\n'
        "ENV D=${A}${NOT_SET:-x}${A:+y}\nUSER app:app\nWORKDIR /w\nCOPY . .\n"
    )
    found = image(tmp_path, text)
    # A variable has the value that it had before the instruction, throughout.
    assert found.environment == {"A": "1", "B": "two words", "C": "x", "OLD": "the rest of it", "D": "1xy"}
    assert (found.directory, found.user, found.python) == ("/w", "app", False)
    assert found.files["/w/run.sh"] == File(b"#!/bin/sh\n", 0o755)
    assert found.files["/w/link.txt"] == SymbolicLink("a.txt")


@pytest.mark.parametrize(
    "line", ["pip install pytest", "python3 -m pip install  --no-cache-dir pytest==9.2.0 packaging>=24"]
)
def test_pytest_is_there_without_being_installed(tmp_path: Path, line: str) -> None:
    assert image(tmp_path, f"FROM python:3.14\nRUN {line}\n").packages[0] == "pytest"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "FROM python:3\nRUN make\n",
            r"Dockerfile:2: RUN is not interpreted without Docker; bring what it makes with COPY",
        ),
        ("FROM python:3\nRUN pip install flask\n", "Dockerfile:2: RUN is not interpreted"),
        ("FROM debian:12\nRUN pip install pytest\n", "Dockerfile:2: RUN is not interpreted"),
        ("FROM python:3\nRUN pip install pytest && make\n", "Dockerfile:2: RUN is not interpreted"),
        ("FROM python:3\n\n# x\nEXPOSE 80\n", "Dockerfile:4: EXPOSE is not interpreted"),
        ("FROM python:3\nFROM debian\n", "Dockerfile:2: a second FROM"),
        ("COPY a.txt /\n", "Dockerfile:1: COPY comes before FROM"),
        ("# nothing\n", "Dockerfile:1: there is no FROM"),
        (
            "FROM golang:1\n",
            "Dockerfile:1: nothing here can stand in for the image 'golang:1'; begin with one of python",
        ),
        ("FROM python:3\nCOPY --from=other /x /y\n", "Dockerfile:2: COPY --from=other is not interpreted"),
        ("FROM python:3\nCOPY ../secret /y\n", r"Dockerfile:2: COPY \.\./secret: is outside of"),
        ("FROM python:3\nCOPY none.txt /y\n", "Dockerfile:2: COPY none.txt: there is no such file"),
        ('FROM python:3\nCOPY ["a.txt", "/y"]\n', "Dockerfile:2: COPY with a JSON list"),
        ("FROM python:3\nCOPY 'a.txt /y\n", "Dockerfile:2: COPY cannot be read: No closing quotation"),
        ("FROM python:3\nCOPY a.txt\n", "Dockerfile:2: COPY names a source and a target"),
        ("FROM python:3\nENV A='$B'\n", "Dockerfile:2: ENV with . in single quotes"),
        ("FROM python:3\nENV A\n", "Dockerfile:2: ENV 'A' gives no value"),
        ("FROM python:3\nENV A=1 \\\n", "Dockerfile:2: the last line is not finished"),
    ],
)
def test_what_needs_docker_or_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        image(tmp_path, text)
    assert re.search(told, str(caught.value)), str(caught.value)
    assert caught.value.remedy


def test_an_image_that_is_too_large_and_one_with_ignored_files_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "big.bin").open("wb") as big:
        big.truncate(65 << 20)
    with pytest.raises(InputError, match="more than 64 MiB"):
        image(tmp_path, "FROM debian\nCOPY . /\n")
    (tmp_path / ".dockerignore").write_text("*.bin\n")
    with pytest.raises(InputError, match="dockerignore is not interpreted; remove it"):
        image(tmp_path, "FROM debian\nCOPY . /\n")
