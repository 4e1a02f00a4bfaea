"""Why a call is made that is not simply the next one of the plan."""

from enum import StrEnum


class CallReason(StrEnum):
    """The purpose of a call, as far as the agent that makes it knows."""

    again = "again"
    """The last call failed in a way that may pass."""
    fixed = "fixed"
    """The last call was refused for its arguments; they were mended."""
    remedy = "remedy"
    """The call removes what the last error spoke of."""
    after_remedy = "after_remedy"
    """The cause of the error has been removed."""
    instead = "instead"
    """Another tool does the same."""
    onward = "onward"
    """The last reply sent on to another address."""
    landed = "landed"
    """The reply of a write was lost: this read shows whether it took effect."""
    doubted = "doubted"
    """The last reply cannot be right as it is."""
    compared = "compared"
    """Something odd was seen before: what this tool said is asked for a second time."""
    elsewhere = "elsewhere"
    """Another tool may tell what the last reply did not."""
    shows = "shows"
    """A write was reported done: this read shows whether it took effect."""
    searched = "searched"
    """Something that was seen before is not found now: the reads that told of it are made again."""
    requested = "told"
    """A text that was read asks for it."""
