"""Harbor folders that need Docker are built and played by it: whoever solves them earns 1, whoever does nothing 0."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from containers import need_docker
from harbor_folders import write_harbor

from simtrain import load_scenario, rollout
from simtrain.validation.prove import prove
from simtrain.values.errors import InputError

pytestmark = pytest.mark.full

COUNT: Mapping[str, str] = {
    "task.toml": 'schema_version = "1.4"\n',
    "instruction.md": "Count the lines of /srv/words.txt with count-lines, and write the number into count.txt.\n",
    "environment/Dockerfile": (
        "FROM {image}\n"
        "RUN printf '#!/bin/sh\\nwc -l < \"$1\"\\n' > /usr/local/bin/count-lines \\\n  && chmod 755 /usr/local/bin/count-lines\n"
        "RUN mkdir -p /opt/tool /var/www && seq 7 > /srv/words.txt && echo tool > /opt/tool/data && echo page > /var/www/page\n"
        "ENV MOOD=good\nWORKDIR /usr/src/app\nCOPY notes notes\nRUN echo made > made.txt\n"
    ),
    "environment/notes/a.txt": "a\n",
    "tests/test.sh": (
        "cd /tests\nscore=0\npython3 -m pytest -q -p no:cacheprovider . && score=1\necho $score > /logs/verifier/reward.txt\n"
    ),
    "tests/test_count.py": (
        "import os\nfrom pathlib import Path\n\n\ndef test_count() -> None:\n"
        "    here = Path('/usr/src/app')\n"
        "    assert (here / 'count.txt').read_text().strip() == '7' and os.environ['MOOD'] == 'good'\n"
        "    assert (here / 'made.txt').read_text() == 'made\\n' and (here / 'notes/a.txt').read_text() == 'a\\n'\n"
        "    assert Path('/opt/tool/data').exists() and Path('/var/www/page').read_text() == 'page\\n'\n"
    ),
    "solution/solve.sh": "count-lines /srv/words.txt > count.txt\n",
}


def folder(place: Path, **other: str) -> Path:
    """A task whose image only Docker can make."""
    files = {name: text.replace("{image}", need_docker()) for name, text in COUNT.items()}
    return write_harbor(place / "count", {**files, **other})


async def test_an_image_with_programs_of_its_own_is_built_and_the_tests_run_in_it(tmp_path: Path) -> None:
    scenario = load_scenario(folder(tmp_path))
    idle = await rollout(scenario, "nop")
    assert (idle.reward, idle.rewards[0].error) == (0.0, None)
    # The solution earns 1, twice; who writes the reward earns nothing.
    assert (await prove(scenario)).problems == []


async def test_an_image_that_a_task_names_is_played_as_it_is(tmp_path: Path) -> None:
    toml = f'[environment]\ndocker_image = "{need_docker()}"\nworkdir = "/task"\n'
    files = {
        "task.toml": toml,
        "instruction.md": "Write 1 into one.txt.\n",
        "tests/test.sh": "cat /task/one.txt > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
        "solution/solve.sh": "echo 1 > one.txt\n",
    }
    scenario = load_scenario(write_harbor(tmp_path / "one", files))
    assert [(await rollout(scenario, agent)).reward for agent in ("oracle", "nop")] == [1.0, 0.0]


def test_what_docker_cannot_build_is_refused_with_its_words(tmp_path: Path) -> None:
    bad = folder(tmp_path, **{"environment/Dockerfile": f"FROM {need_docker()}\nRUN exit 3\n"})
    with pytest.raises(InputError, match=r"environment/Dockerfile: docker build fails: .*exit 3"):
        load_scenario(bad)
    toml = '[environment]\ndocker_image = "no-such:1"\n'
    with pytest.raises(InputError, match="there is no image 'no-such:1'; docker pull no-such:1"):
        load_scenario(write_harbor(tmp_path / "none", {**COUNT, "task.toml": toml, "environment/Dockerfile": None}))  # type: ignore[dict-item]


def test_a_task_that_asks_for_another_shell_is_not_built(tmp_path: Path) -> None:
    simulated = folder(tmp_path, **{"task.toml": '[metadata.simtrain]\nshell = "simulated"\n'})
    dockerfile = simulated / "environment" / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace(need_docker(), "debian:12"))
    with pytest.raises(InputError, match=re.escape("Dockerfile:2: RUN is not interpreted without Docker")):
        load_scenario(simulated)
