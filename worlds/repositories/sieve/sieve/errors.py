"""The one error."""


class QueryError(Exception):
    """A query, or a row, that cannot be used. `at` is the place in the text, from 0."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message if at is None else f"{message}, at {at}")
        self.at = at
