"""Replies that do not fit their output schema: no official client may ever meet one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakery import WORLD
from mcp import Client
from serving_bakery import serving

from simtrain.mcp.serve.targets import load_target

pytestmark = pytest.mark.slow

CAKE = {"id": "K001", "name": "Linzer", "price": 12.5, "stock": 3}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(
    ("scripted", "structured", "error"),
    [
        pytest.param({"structured": CAKE}, CAKE, None, id="fits"),
        pytest.param({"text": json.dumps(CAKE)}, CAKE, None, id="the text holds it"),
        pytest.param(
            {"text": json.dumps(CAKE), "structured": {"id": 1}}, CAKE, None, id="the text holds what is misfit"
        ),
        pytest.param({"text": "A Linzer."}, None, "does not fit its output schema", id="words alone"),
        pytest.param({"structured": {"id": "K001"}}, None, "does not fit its output schema", id="a field is missing"),
        pytest.param(
            {"text": "No such cake.", "is_error": True}, None, "No such cake.", id="an error needs no structure"
        ),
    ],
)
async def test_what_goes_out_fits_or_is_an_error(
    scripted: dict[str, object], structured: object, error: str | None, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "bakery.yaml"
    path.write_text(WORLD)
    answer = {"use": "scripted", "with": {"answers": [{"tool": "cakes.get", **scripted}]}, "tools": "cakes.get"}
    async with serving(load_target(str(path), world_models=[answer])) as served:
        url = (await served.open(name="one"))["servers"]["cakes"]
        async with Client(url, mode=mode) as client:
            await client.list_tools()
            reply = await client.call_tool("get", {"name": "Linzer"})
        if error is None:
            assert not reply.is_error and reply.structured_content == structured
        else:
            assert reply.is_error and error in reply.content[0].text
