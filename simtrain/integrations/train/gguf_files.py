"""Trained weights in the form of the GGUF file that training started from, so that llama.cpp can serve them.

The format is GGUF 3 (ggml-org/ggml, docs/gguf.md). Metadata and tokenizer stay as they were. Matrices are written as 16-bit floats, or
rounded to 8 bits (`q8_0`: blocks of 32 integers with one 16-bit scale).
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from simtrain.files.jsonl import temporary_name
from simtrain.integrations.train.models import disk_errors
from simtrain.integrations.train.recipe import Weights
from simtrain.values.errors import InputError
from simtrain.values.extras import require

ROTATED = ("llama",)
"""Architectures of which llama.cpp keeps the rows of queries and keys in the other order of rotary embeddings."""

PLAIN = ("qwen2", "qwen3")
"""Architectures of which it keeps all weights as transformers does."""


def write_gguf(folder: Path, like: Path, out: Path, *, weights: Weights = "f16") -> None:
    """Write the weights in a folder of transformers to the file `out`, with the metadata of the GGUF file `like`.

    Raises InputError for an architecture that is not known, and for a full disk.
    """
    require("llamacpp", "gguf")
    gguf: Any = import_module("gguf")
    reader = gguf.GGUFReader(like)
    architecture = reader.get_field("general.architecture").contents()
    if architecture not in (*ROTATED, *PLAIN):
        raise InputError(
            f"weights of the architecture {architecture} cannot be written as GGUF here",
            remedy="serve the model with vllm",
            file=like,
        )
    temporary = temporary_name(out)
    try:
        with disk_errors(out):
            writer = gguf.GGUFWriter(temporary, architecture)
            _copy_metadata(gguf, reader, writer, weights)
            kind = gguf.GGMLQuantizationType[weights.upper()]
            for name, tensor in _tensors(gguf, reader, architecture, folder):
                if tensor.ndim == 1:
                    writer.add_tensor(name, tensor)
                else:
                    writer.add_tensor(name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            temporary.rename(out)
    finally:
        temporary.unlink(missing_ok=True)


def _copy_metadata(gguf: Any, reader: Any, writer: Any, weights: Weights) -> None:
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.quantization_version"):
            continue
        if field.name == "general.file_type":
            writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{weights.upper()}"])
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, inner)


def _tensors(gguf: Any, reader: Any, architecture: str, folder: Path) -> Any:
    """Yield the name and the values (32-bit floats) of each tensor that the file `like` holds."""
    layers = int(reader.get_field(f"{architecture}.block_count").contents())
    heads = int(reader.get_field(f"{architecture}.attention.head_count").contents())
    groups = int(reader.get_field(f"{architecture}.attention.head_count_kv").contents())
    number = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(number, layers)
    wanted = {tensor.name for tensor in reader.tensors}
    for name, tensor in _weights(folder):
        known = names.get_name(name, try_suffixes=(".weight", ".bias"))
        # A tied output matrix is saved by transformers, or not, as it likes; the GGUF file says whether it is one of its own.
        if known not in wanted:
            continue
        wanted.discard(known)
        values = tensor.float().numpy()
        if architecture in ROTATED and "q_proj" in name:
            values = _interleaved(values, heads)
        if architecture in ROTATED and "k_proj" in name:
            values = _interleaved(values, groups)
        yield known, values
    # Frequencies of rotary embeddings are made from the metadata where they are missing.
    if lacking := sorted(name for name in wanted if not name.startswith("rope")):
        raise InputError(f"the model has no weights for {lacking[0]}", remedy="start from the GGUF file of this model")


def _weights(folder: Path) -> Any:
    safetensors: Any = import_module("safetensors.torch")
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InputError("the folder holds no weights", file=folder)
    for file in files:
        yield from safetensors.load_file(file).items()


def _interleaved(values: Any, heads: int) -> Any:
    """Return rows with the two halves of each head interleaved: llama.cpp rotates neighbours, transformers halves."""
    halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)
