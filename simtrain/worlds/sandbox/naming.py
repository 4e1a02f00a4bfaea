"""Sandboxes by name: `wasm`, `bubblewrap`, `docker`, those of plug-ins; `docker:IMAGE` says with which image."""

from pydantic import ValidationError

from simtrain.contracts.registry import resolve
from simtrain.contracts.sandbox import SandboxBackend
from simtrain.values.errors import InputError


def backend_of(name: str) -> SandboxBackend:
    """Return the backend of a name. Raises InputError for a name that is not known, and for an image where there are none."""
    plain, _, image = name.partition(":")
    made = resolve("sandboxes", plain)
    try:
        backend: SandboxBackend = made(**({"image": image} if image else {}))
    except ValidationError:
        raise InputError(
            f"the sandbox `{plain}` has no images", remedy=f"write `{plain}`, or `docker:{image}`"
        ) from None
    return backend
