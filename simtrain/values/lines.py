"""Lines of content that is not known to be text."""


def lines_of(content: bytes) -> list[bytes]:
    """Return the lines with their ends; the last one may lack it. Only a line feed ends a line."""
    *whole, rest = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])
