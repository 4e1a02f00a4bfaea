"""TRL's SFT trainer, with the loss computed only at the tokens that have labels.

TRL 1.16 does so where it has Triton kernels. Elsewhere it projects every token onto the vocabulary, which on a CPU is 40 % of the work
for a small model whose rows are mostly replies of tools.
"""

from importlib import import_module
from typing import Any

from simtrain.integrations.train.rows import IGNORED


def masked_trainer() -> Any:
    """Return a subclass of `trl.SFTTrainer` for machines without a GPU."""
    trl: Any = import_module("trl")
    torch: Any = import_module("torch")

    class MaskedTrainer(trl.SFTTrainer):
        """Gives the loss of the parent, the mean negative log-likelihood (natural logarithm) over labelled tokens."""

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            labels = inputs["labels"][:, 1:]
            places = (labels != IGNORED).any(dim=0).nonzero().squeeze(1)
            outputs = model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                logits_to_keep=places,
                use_cache=False,
            )
            kept = labels[:, places].reshape(-1)
            total = torch.nn.functional.cross_entropy(
                outputs.logits.float().flatten(0, 1), kept, ignore_index=IGNORED, reduction="sum"
            )
            count = (kept != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
            loss = total / count
            return (loss, outputs) if return_outputs else loss

    return MaskedTrainer
