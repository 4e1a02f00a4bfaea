"""Reasons for calls that are not simply the next one of the plan."""

from enum import StrEnum


class CallReason(StrEnum):
    """The purpose of a call, as far as its agent knows."""

    again = "again"
    """The last call failed with an error that may be transient."""
    fixed = "fixed"
    """The last call was refused for its arguments, which were fixed."""
    remedy = "remedy"
    """The call removes the cause named by the last error."""
    after_remedy = "after_remedy"
    """The cause of the error has been removed."""
    instead = "instead"
    """An equivalent tool is called instead."""
    onward = "onward"
    """The last reply redirected to another address."""
    landed = "landed"
    """The reply of a write was lost: this read shows whether it took effect."""
    doubted = "doubted"
    """The last reply cannot be right as it stands."""
    compared = "compared"
    """Something odd was seen before: the read is repeated for comparison."""
    elsewhere = "elsewhere"
    """Another tool may return what the last reply lacks."""
    shows = "shows"
    """A write was reported as done: this read shows whether it took effect."""
    searched = "searched"
    """A record that was seen before is not found now: the reads that returned it are repeated."""
    requested = "told"
    """A text that was read asks for the call."""
