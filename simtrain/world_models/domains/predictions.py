"""Reads the observation in a prediction of a language world model, or refuses it: rules shared by all domains.

The steps and the reasons for a refusal follow the published evaluation of Qwen-AgentWorld (arXiv 2606.24597).
"""

import re

from simtrain.llm.completion import split_thinking

HEADER = "**Environment Observation:**"

_BLOCK = re.compile(r"<predicted_observation>(.*?)</predicted_observation>", re.DOTALL)
_LEAKED = re.compile(
    r"</?think>|</?predicted_observation>|<\|im_(?:start|end)\|>|<\|endoftext\|>|</?tool_call>"
    r"|^\*\*Action:\*\*|^### Turn \d+|^\*\*Environment Observation:\*\*",
    re.MULTILINE,
)
# Sentences in which a model talks about its own work. The patterns are narrow, since a tool may report on predictions of its own.
_PRAISE = re.compile(
    r"\bas (?:a|an|the) (?:language )?(?:world model|environment simulator|simulated environment)\b"
    r"|\b(?:my|this|the above|the predicted) (?:simulation|simulated \w+|predicted observation)"
    r" (?:is|was|accurately|faithfully|correctly|perfectly|matches)\b"
    r"|\bI (?:have )?(?:accurately|faithfully|correctly|successfully) (?:simulated|predicted)\b",
    re.IGNORECASE,
)


def read_prediction(text: str, *, may_be_empty: bool = False) -> str:
    """Return the observation in a prediction, for any domain.

    Thinking is dropped. The last `<predicted_observation>` block counts, else the whole rest; a leading header is removed. Raises
    ValueError with the reason if nothing is left, or if it contains marks of the prompt or self-praise. With `may_be_empty`, nothing
    may be left below a header.
    """
    spoken, _ = split_thinking(text)
    blocks: list[str] = _BLOCK.findall(spoken)
    observation = (blocks[-1] if blocks else spoken).strip().removeprefix(HEADER).strip()
    if not observation and not (may_be_empty and (HEADER in spoken or blocks)):
        raise ValueError("it is empty")
    leaked = _LEAKED.search(observation)
    if leaked:
        raise ValueError(f"it contains the mark {leaked[0]!r}")
    praise = _PRAISE.search(observation)
    if praise:
        raise ValueError(f"it speaks of itself ({praise[0]!r}) and not as the environment")
    return observation
