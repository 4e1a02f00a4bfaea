"""All errors that rota raises on purpose."""


class RotaError(Exception):
    """Any of them."""


class DurationError(RotaError):
    """A text that is no duration."""


class CronError(RotaError):
    """A line that is no cron line."""


class JobError(RotaError):
    """A job that is unknown, known twice, or in the wrong state."""


class CycleError(RotaError):
    """Jobs that wait for each other."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("jobs wait for each other: " + " -> ".join(names))
        self.names = names


class PoolError(RotaError):
    """A resource that does not exist, or not so much of it."""
