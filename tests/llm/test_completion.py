"""What is read from the bodies of an OpenAI-compatible server."""

from __future__ import annotations

import pytest

from simtrain.llm.completion import ModelRefusal, read_error


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error": {"message": "slow down", "code": "rate_limit"}}', "slow down", "rate_limit"),
        (b'{"error": {"message": "no such model", "code": 404}}', "no such model", None),
        (b'{"object": "error", "message": "too long"}', "too long", None),
        (b'{"error": "bad gateway"}', "bad gateway", None),
        (b'{"detail": "Not Found"}', '{"detail": "Not Found"}', None),
        (b'["x"]', '["x"]', None),
        (b"<html>502</html>\n", "<html>502</html>", None),
        (b"\xff", "\ufffd", None),
        (b"", "", None),
    ],
)
def test_the_words_of_a_refusal_are_found_in_whatever_form_they_come(
    body: bytes, message: str, code: str | None
) -> None:
    assert read_error(body) == ModelRefusal(message, code)
