"""The container without Docker in which Harbor's tasks are played: what stays, what cannot get out, what ends it; and a world beside it."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from harbor_folders import write_harbor

from simtrain.integrations.harbor.container import Container
from simtrain.integrations.harbor.exporting import FolderOptions, write_harbor_folder
from simtrain.integrations.harbor.sidecar import read_sidecar, served_world
from simtrain.public import load_scenario
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.sandbox.bubblewrap import BubblewrapSandbox
from simtrain.worlds.sandbox.dockerfile import read_dockerfile

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def bubblewrap() -> None:
    probe = BubblewrapSandbox().probe()
    if not probe.ok:
        pytest.skip(f"the sandbox bubblewrap does not work here: {probe.found}")


@asynccontextmanager
async def running(folder: Path, *, storage: int = 64 << 20, **options: object) -> AsyncIterator[Container]:
    """A container of an image with one file."""
    image = {"Dockerfile": "FROM debian:12\nWORKDIR /app\nENV MOOD=good\nCOPY a.txt ./\n", "a.txt": "first\n"}
    made = read_dockerfile(write_harbor(folder, image) / "Dockerfile")
    container = Container(made, memory=2 << 30, storage=storage, **options)  # type: ignore[arg-type]
    try:
        await container.start()
        yield container
    finally:
        await container.stop()


async def say(container: Container, line: str, **options: object) -> str:
    done = await container.run(["bash", "-c", line], **options)  # type: ignore[arg-type]
    return done.stdout + done.stderr + (f"[{done.code}]" if done.code else "")


async def test_files_and_services_stay_from_one_command_to_the_next(tmp_path: Path) -> None:
    async with running(tmp_path) as box:
        assert await say(box, "pwd; cat a.txt; echo $MOOD $X", env={"X": "y"}) == "/app\nfirst\ngood y\n"
        server = "python3 -m http.server 8123 --bind 127.0.0.1 --directory /app > /tmp/log 2>&1 &"
        assert await say(box, server) == ""
        ask = "import urllib.request as r; print(r.urlopen('http://localhost:8123/a.txt').read().decode())"
        tries = f'for i in $(seq 50); do python3 -c "{ask}" 2>/dev/null && break; sleep 0.1; done'
        assert await say(box, tries) == "first\n\n"


async def test_neither_links_nor_the_network_lead_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    async with running(tmp_path / "image") as box:
        await say(box, f"ln -s {outside} /app/way; ln -s {secret} /app/key; mkfifo /app/pipe")
        brought = write_harbor(tmp_path / "brought", {"b.txt": "brought\n"})
        # Inside, the link leads to nothing.
        with pytest.raises(SimulatorFault, match="cannot be copied"):
            await box.put(brought, "/app/way/deep")
        assert list(outside.iterdir()) == []
        await say(box, "ln -s /srv/there /app/inner")
        await box.put(brought / "b.txt", "/srv/there/b.txt")
        await box.put(brought, "/app/inner/deep")
        assert await say(box, "cat /srv/there/deep/b.txt /srv/there/b.txt") == "brought\nbrought\n"
        with pytest.raises(SimulatorFault, match="cannot be read"):
            await box.archive("/app/nothing")
        made = await box.archive("/app")
        with tarfile.open(made) as archive:
            kinds = {member.name: (member.issym(), member.size) for member in archive}
        assert kinds["./key"] == (True, 0)
        assert "SECRET" not in await say(box, f"cat {secret}")
        assert "unreachable" in (await say(box, "exec 3<>/dev/tcp/192.0.2.1/80")).lower()
        assert await say(box, "test -w /usr || echo kept") == "kept\n"


async def test_time_output_and_disk_have_limits(tmp_path: Path) -> None:
    async with running(tmp_path, storage=24 << 20) as box:
        late = await box.run(["bash", "-c", "echo begun; sleep 60"], timeout=0.3)
        assert (late.stdout, late.code, late.late) == ("begun\n", 124, True)
        flood = await box.run(["bash", "-c", "head -c 9000000 /dev/zero | tr '\\0' x"])
        assert len(flood.stdout) == 4_000_000
        # It is looked at while the file is as large as it may be.
        await say(box, "head -c 1000000000 /dev/zero > /app/big; sleep 2")
        assert int(await say(box, "stat -c %s /app/big")) <= 24 << 20
        with pytest.raises(SimulatorFault, match="wrote more than 24 MB"):
            await say(box, "for i in 1 2 3; do head -c 20000000 /dev/zero > /app/$i; done; sleep 20")
        with pytest.raises(SimulatorFault, match="wrote more than 24 MB"):
            await say(box, "true")


@pytest.mark.full
async def test_an_exported_case_is_solved_by_its_solution_through_the_world_beside_the_container(
    tmp_path: Path,
) -> None:
    options = FolderOptions(seed=3)
    written = await write_harbor_folder(load_scenario("helpdesk/refund"), tmp_path, case=4, options=options)
    assert (written.solution, written.nop, written.folder.name) == (1.0, 0.0, "helpdesk-refund-c0004-s3")
    again = await write_harbor_folder(load_scenario("helpdesk/refund"), tmp_path / "again", case=4, options=options)
    files = sorted(path.relative_to(written.folder) for path in written.folder.rglob("*") if path.is_file())
    assert all((written.folder / path).read_bytes() == (again.folder / path).read_bytes() for path in files)
    sidecar = read_sidecar(written.folder / "environment" / "docker-compose.yaml")
    rewards: list[float] = []
    for solves in (True, False):
        async with (
            served_world(sidecar) as reach,
            running(tmp_path / "image", reach=reach, names=(sidecar.service,)) as box,
        ):
            assert "401" in await say(
                box, "python3 -c \"import urllib.request as r; r.urlopen('http://world:8766/episodes')\""
            )
            if solves:
                await box.put(written.folder / "solution", "/solution")
                assert await say(box, "bash /solution/solve.sh > /dev/null") == ""
            await box.put(written.folder / "tests", "/tests")
            await say(box, "bash /tests/test.sh")
            rewards.append(json.loads(await say(box, "cat /logs/verifier/reward.json"))["reward"])
    assert rewards == [1.0, 0.0]


def test_a_compose_file_with_services_of_its_own_needs_docker(tmp_path: Path) -> None:
    head = "x-simtrain: {scenario: helpdesk/refund, token: 0123456789abcdef}\n"
    for text, told in (
        ("services: {db: {}}\n", "docker-compose.yaml:1: its services need Docker"),
        (
            f"{head}services: {{main: {{}}, db: {{}}}}\n",
            "docker-compose.yaml:2: services.db: the service 'db' needs Docker",
        ),
        ("x-simtrain: {scenario: ../../etc, token: 0123456789abcdef}\n", "x-simtrain.scenario"),
        ("x-simtrain: {scenario: a/../../b, token: 0123456789abcdef}\n", "lies outside of environment/world"),
        ("x-simtrain: {scenario: a, token: short}\n", "x-simtrain.token"),
        ("x-simtrain: {scenario: --out, token: 0123456789abcdef}\n", "x-simtrain.scenario"),
    ):
        path = write_harbor(tmp_path, {"docker-compose.yaml": text}) / "docker-compose.yaml"
        with pytest.raises(InputError, match=told):
            read_sidecar(path)


@pytest.mark.full
def test_a_world_that_cannot_be_served_says_why(tmp_path: Path) -> None:
    text = "x-simtrain: {scenario: nowhere/nothing, token: 0123456789abcdef}\n"
    sidecar = read_sidecar(write_harbor(tmp_path, {"docker-compose.yaml": text}) / "docker-compose.yaml")

    async def serve() -> None:
        async with served_world(sidecar):
            pytest.fail("it was served")

    with pytest.raises(SimulatorFault, match=r"the world cannot be served: error: there is no .* 'nowhere/nothing'"):
        asyncio.run(serve())
