"""The one error, with its place."""


class ConfitError(Exception):
    """Something is wrong with a text or a value. Line and column count from 1; 0 is unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(place + message)
        self.message = message
        self.line = line
        self.column = column
