"""Finds names that could be mistaken for one another: one edit apart."""

from collections.abc import Iterable


def lookalikes(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two of these names that are at most one edit (insertion, deletion or substitution) apart; None if there are none."""
    seen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        forms = _forms(name.casefold())
        other = next((seen[form] for form in forms if form in seen), None)
        if other is not None:
            return other, name
        seen.update(dict.fromkeys(forms, name))
    return None


def _forms(plain: str) -> list[str]:
    """Return all forms of a name with one letter blanked or one blank inserted. Names one edit apart share such a form."""
    # NUL stands for any letter; no name contains it.
    blanked = [f"{plain[:place]}\0{plain[place + 1 :]}" for place in range(len(plain))]
    widened = [f"{plain[:place]}\0{plain[place:]}" for place in range(len(plain) + 1)]
    return blanked + widened
