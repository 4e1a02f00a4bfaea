"""Harbor folders for tests, written from a few texts."""

from collections.abc import Mapping
from pathlib import Path

TASK = 'schema_version = "1.4"\n\n[metadata.simtrain]\nshell = "simulated"\n'
GREETING: Mapping[str, str] = {
    "task.toml": TASK,
    "instruction.md": "Write the word {{ hello }} into /app/greeting.txt.\n",
    "environment/Dockerfile": "FROM debian:12-slim\nWORKDIR /app\nENV MOOD=good\nCOPY notes notes\n",
    "environment/notes/mood.txt": "good\n",
    "tests/test.sh": (
        "#!/bin/bash\n"
        'if [ "$(cat /app/greeting.txt)" = "{{ hello }}" ] && [ "$MOOD" = good ]; then echo 1; else echo 0; fi'
        " > /logs/verifier/reward.txt\n"
    ),
    "solution/solve.sh": "#!/bin/bash\ncat /solution/words.txt > greeting.txt\n",
    "solution/words.txt": "{{ hello }}\n",
}
"""A task with braces in it, which no template may touch. It is played in the simulated shell."""

STEPS: Mapping[str, str] = {
    "task.toml": 'multi_step_reward_strategy = "mean"\n'
    + TASK
    + '\n[[steps]]\nname = "add"\nmin_reward = 0.5\n\n[[steps]]\nname = "sort"\n',
    "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /ledger\n",
    "steps/add/instruction.md": "Write the sum of 2 and 3 into /ledger/sum.txt.\n",
    "steps/add/tests/test.sh": (
        'if [ "$(cat sum.txt)" = 5 ] && [ ! -e input.txt ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'
    ),
    "steps/add/solution/solve.sh": "echo $((2 + 3)) > sum.txt\n",
    "steps/sort/instruction.md": "Remove /ledger/sum.txt, and sort the lines of input.txt into sorted.txt.\n",
    "steps/sort/workdir/input.txt": "b\na\n",
    "steps/sort/tests/test.sh": (
        "score=0.25\n"
        'if [ ! -e sum.txt ] && [ "$(cat sorted.txt)" = "$(printf \'a\\nb\')" ]; then score=1; fi\n'
        'echo "{\\"reward\\": $score, \\"lines\\": 2}" > /logs/verifier/reward.json\n'
    ),
    "steps/sort/solution/solve.sh": "sort input.txt > sorted.txt\nrm sum.txt\n",
}
"""A task of two steps. The first is right only as it was before the second began."""


def write_harbor(folder: Path, files: Mapping[str, str | bytes | None]) -> Path:
    """Write a folder, without the files that are None, and return it."""
    for name, content in files.items():
        if content is None:
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
