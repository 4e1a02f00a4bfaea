"""What a language world model wrote, reduced to the observation, or refused: the rules that all domains share.

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
# Sentences in which a model speaks of its own work; narrow, since a tool may well report on predictions of its own.
_PRAISE = re.compile(
    r"\bas (?:a|an|the) (?:language )?(?:world model|environment simulator|simulated environment)\b"
    r"|\b(?:my|this|the above|the predicted) (?:simulation|simulated \w+|predicted observation)"
    r" (?:is|was|accurately|faithfully|correctly|perfectly|matches)\b"
    r"|\bI (?:have )?(?:accurately|faithfully|correctly|successfully) (?:simulated|predicted)\b",
    re.IGNORECASE,
)


def read_prediction(text: str) -> str:
    """Return the observation in a prediction, whatever the domain.

    Thinking is dropped; the last `<predicted_observation>` block counts, else all that is left; a leading header is
    taken off. Raises ValueError, saying why, when nothing is left, or when it contains marks of the prompt or praise
    of itself.
    """
    spoken, _ = split_thinking(text)
    blocks: list[str] = _BLOCK.findall(spoken)
    observation = (blocks[-1] if blocks else spoken).strip().removeprefix(HEADER).strip()
    if not observation:
        raise ValueError("it is empty")
    leaked = _LEAKED.search(observation)
    if leaked:
        raise ValueError(f"it contains the mark {leaked[0]!r}")
    praise = _PRAISE.search(observation)
    if praise:
        raise ValueError(f"it speaks of itself ({praise[0]!r}) and not as the environment")
    return observation
