"""Secrets are taken out, however they are written."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from simtrain.files.redaction import REDACTED, Redactor
from simtrain.mcp.capture.server_secrets import secrets_of
from simtrain.mcp_wire.targets import StdioTarget

SECRET = "hunter2-correct-horse"


@given(st.binary(max_size=7), st.binary(max_size=7), st.booleans())
def test_no_part_of_a_secret_that_tells_it_stands_in_base64(before: bytes, after: bytes, url: bool) -> None:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    told = Redactor([SECRET]).text(f"x {encode(before + SECRET.encode() + after).decode()} y")
    assert REDACTED in told
    letters = told.replace(REDACTED, " ").split()
    for word in letters:
        decoded = (
            base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_" if url else None)
            if len(word) % 4 != 1
            else b""
        )
        assert SECRET[3:-3].encode() not in decoded


def test_a_secret_alone_in_base64_leaves_nothing() -> None:
    for secret in ("secret", "secret1", "secret12"):
        encoded = base64.b64encode(secret.encode()).decode()
        assert Redactor([secret]).text(encoded).rstrip("=") == REDACTED


def test_words_that_are_not_the_secret_stay() -> None:
    text = "hunter, correct horse, aHVudGVy"
    assert Redactor([SECRET]).text(text) == text


def test_a_variable_that_ends_in_key_is_secret_about_a_server() -> None:
    target = StdioTarget(
        ("server",), {"NOTION_KEY": "value-of-a-key", "SORT_KEYS": "by-the-name", "KEYBOARD": "qwertz-de"}
    )
    assert secrets_of(target, environ={"STRIPE_KEY": "value-of-ours", "HOME": "somewhere"}) == [
        "value-of-ours",
        "value-of-a-key",
    ]
