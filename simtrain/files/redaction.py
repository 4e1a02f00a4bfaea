"""Redact secrets: known values anywhere, values under names that suggest secrets, and keys in a known format."""

import base64
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

REDACTED = "[redacted]"

SHORTEST = 6
"""Shorter known values are not redacted: they would match inside ordinary words."""

_WORDS = r"api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|token|secret|password|passwd|credentials?|authorization|cookie"
_NAME = re.compile(rf"(?:^|[_\-.]|(?-i:(?<=[a-z])(?=[A-Z])))(?:x[_-])?(?:{_WORDS}|pat|pwd)$", re.IGNORECASE)
# Names of paging and progress: such tokens are not secret, and clients need them.
_HARMLESS = re.compile(r"(?:progress|next|page|cursor|continuation|sync|refresh_?page)[_-]?token$", re.IGNORECASE)

# Keys of well-known services, in their published formats; ordinary words are too short to match.
_SHAPES = re.compile(
    r"""
      \b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{20,}
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_[A-Za-z0-9_]{30,} | \bglpat-[A-Za-z0-9_-]{20,}
    | \bxox[abposr]-[A-Za-z0-9-]{10,} | \bntn_[A-Za-z0-9]{30,} | \bsecret_[A-Za-z0-9]{40,}
    | \bAKIA[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{35} | \bhf_[A-Za-z0-9]{30,} | \bnpm_[A-Za-z0-9]{36}
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
    | -----BEGIN[ A-Z]*PRIVATE\ KEY-----[\s\S]*?-----END[ A-Z]*PRIVATE\ KEY-----
    """,
    re.VERBOSE,
)
_STARTS = (
    "sk",
    "pk",
    "rk",
    "gh",
    "glpat-",
    "xox",
    "ntn_",
    "secret_",
    "AKIA",
    "AIza",
    "hf_",
    "npm_",
    "eyJ",
    "-----BEGIN",
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+([A-Za-z0-9._~+/-]{16,}=*)")
_IN_JSON = re.compile(r'(\\?")([A-Za-z0-9_.\-]{2,64})\1(\s*:\s*)\1((?:(?!\\?").)+)\1')
_SETTING = re.compile(r"\b([A-Z][A-Z0-9_]{2,63})=([^\s\"']{6,})")
_USERINFO = re.compile(r"\b([a-z][a-z0-9+.-]{1,20}://)([^\s/@:]{1,200}):([^\s/@]{1,200})@", re.IGNORECASE)


class Redactor:
    """Replaces secrets by REDACTED.

    `secrets` are values that are known to be secret. With `by_name` false only these and keys in a known format are redacted: a
    server's descriptions contain examples such as `{"token": "abc"}`, which must be kept.
    """

    def __init__(self, secrets: Iterable[str] = (), *, by_name: bool = True) -> None:
        self._by_name = by_name
        forms = {form for secret in secrets for form in _forms(secret)}
        # Longest first, since one secret may contain another.
        self._known = sorted(forms, key=lambda form: (-len(form), form))

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        # A search for a plain word is a hundred times as fast as a pattern, and texts may be of any size.
        if any(start in text for start in _STARTS):
            text = _SHAPES.sub(REDACTED, text)
        if not self._by_name:
            return text
        if "earer" in text or "asic" in text:
            text = _BEARER.sub(rf"\1 {REDACTED}", text)
        if "://" in text:
            text = _USERINFO.sub(rf"\1{REDACTED}@", text)
        if "=" in text:
            text = _SETTING.sub(_hide_setting, text)
        return _IN_JSON.sub(_hide_member, text) if '"' in text else text

    def value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without secrets; keys, their order, and non-text values stay."""
        if isinstance(value, str):
            return self.text(value)
        if is_list(value):
            return [self.value(item) for item in value]
        if is_object(value):
            return {key: self._member(key, item) for key, item in value.items()}
        return value

    def object(self, value: JsonObject) -> JsonObject:
        """Return `value` for an object."""
        return self.value(value)

    def url(self, url: str) -> str:
        """Return a URL without user, password, and secrets in its query."""
        parts = urlsplit(url)
        query = [(name, REDACTED if names_secret(name) else value) for name, value in parse_qsl(parts.query, True)]
        host = parts.netloc.rpartition("@")[2]
        return self.text(urlunsplit((parts.scheme, host, parts.path, urlencode(query, safe="[]"), "")))

    def command(self, words: Iterable[str]) -> list[str]:
        """Return a command line without secrets: `--token X`, `--token=X`, `TOKEN=X` and known values."""
        hidden: list[str] = []
        after_flag = False
        for word in words:
            name, equals, value = word.partition("=")
            # A flag without a value is followed by another flag.
            if after_flag and not word.startswith("-"):
                hidden.append(REDACTED)
            elif equals and value and names_secret(name.lstrip("-")):
                hidden.append(f"{name}={REDACTED}")
            else:
                hidden.append(self.url(word) if word.startswith(("http://", "https://")) else self.text(word))
            after_flag = word.startswith("-") and not equals and names_secret(word.lstrip("-"))
        return hidden

    def _member(self, key: str, item: JsonValue) -> JsonValue:
        # Only a text is a secret; objects are searched further.
        if self._by_name and isinstance(item, str) and item and names_secret(key):
            return REDACTED
        return self.value(item)


def names_secret(name: str) -> bool:
    """True if a variable, header, flag or member of this name is likely to hold a secret."""
    return bool(_NAME.search(name)) and not _HARMLESS.search(name)


def redact(value: JsonValue) -> JsonValue:
    """Return a JSON value without values that look secret by name or format."""
    return _BY_LOOKS.value(value)


def _forms(secret: str) -> set[str]:
    """Return a secret in every written form: plain, in a URL, in JSON text inside a text, and in base64, alone or
    within other text.
    """
    if len(secret.strip()) < SHORTEST:
        return set()
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return {secret, secret.strip(), unquote(secret), escaped, *_in_base64(secret.strip())}


def _in_base64(secret: str) -> set[str]:
    """Return the part of a secret's base64 that does not depend on the text around it, in both alphabets.

    Base64 writes three bytes as four letters, so a secret may begin at three offsets, and the letters at its ends
    also depend on its neighbours.
    """
    content = secret.encode(errors="surrogatepass")
    found = {base64.b64encode(content).decode().rstrip("="), base64.urlsafe_b64encode(content).decode().rstrip("=")}
    for before in range(3):
        whole = content[-before % 3 : len(content) - (len(content) + before) % 3]
        if len(whole) >= SHORTEST:
            found |= {base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()}
    return found


def _hide_setting(found: re.Match[str]) -> str:
    return f"{found[1]}={REDACTED}" if names_secret(found[1]) else found[0]


def _hide_member(found: re.Match[str]) -> str:
    quote = found[1]
    return f"{quote}{found[2]}{quote}{found[3]}{quote}{REDACTED}{quote}" if names_secret(found[2]) else found[0]


_BY_LOOKS = Redactor()
