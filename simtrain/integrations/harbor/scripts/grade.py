"""Ends the episode at the service that plays the world, and writes the reward that it gives. The standard library alone."""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
LOGS = Path("/logs/verifier")


def ask(episode: dict[str, str], method: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
    """Make a request of the control plane."""
    headers = {"Authorization": f"Bearer {episode['token']}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{episode['control']}{path}", content, headers, method=method)) as reply:
        found: dict[str, Any] = json.loads(reply.read())
        return found


def main() -> None:
    """Grade the episode."""
    episode = json.loads((HERE / "episode.json").read_text())
    opened = {one["episode"] for one in ask(episode, "GET", "/episodes")["episodes"]}
    if "default" not in opened:
        # The agent has not even connected.
        ask(episode, "POST", "/episodes", {"name": "default"})
    written = Path(episode["answer_file"])
    ending: dict[str, str] = {}
    if written.is_file():
        ending["answer"] = written.read_text(errors="replace")
    trajectory = ask(episode, "POST", "/episodes/default/close", ending)
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "trajectory.jsonl").write_text(json.dumps(trajectory) + "\n")
    for reward in trajectory["rewards"]:
        print(f"{reward['grader']}: {reward['value']} {json.dumps(reward['detail'])} {reward['error'] or ''}".rstrip())
    if trajectory["reward"] is None:
        raise SystemExit(f"no reward: {json.dumps(trajectory['stop'])}")
    (LOGS / "reward.json").write_text(json.dumps({"reward": trajectory["reward"]}))


if __name__ == "__main__":
    sys.exit(main())
