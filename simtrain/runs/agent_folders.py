"""The folders of runs that several agents play: one below a common folder for each, named after the agent."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from simtrain.values.errors import InputError

LONGEST = 80
MOST_BYTES = 200
"""File systems allow 255 bytes; a name also gets a digest where others would share it."""


def agent_folders(agents: Sequence[str], out: Path) -> Mapping[str, Path]:
    """Return where each agent plays: `out/chat-gpt-5` for `chat:gpt-5`. Agents whose names would be the same get a digest in it.

    The order of the agents changes nothing. Raises InputError for an agent that is named twice.
    """
    for agent in agents:
        if agents.count(agent) > 1:
            raise InputError(
                f"--agent {agent} is given twice", remedy="name it once; --attempts 2 plays each case twice"
            )
    plain = {agent: _plain(agent) for agent in agents}
    # Without regard to case, since some file systems have none.
    taken = [name.casefold() for name in plain.values()]
    return {
        agent: out / (name if taken.count(name.casefold()) == 1 else f"{name}-{_digest(agent)}")
        for agent, name in plain.items()
    }


def _plain(agent: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in agent)[:LONGEST]
    # A name that began with a dot would be hidden, and `..` would lead elsewhere.
    return kept.encode()[:MOST_BYTES].decode(errors="ignore").lstrip(".") or "agent"


def _digest(agent: str) -> str:
    return blake2b(agent.encode(), digest_size=4).hexdigest()
