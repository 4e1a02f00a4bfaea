"""The journal of a relay: frames as they pass, and their count."""

from dataclasses import dataclass
from itertools import count

from simtrain.mcp.relay.verdicts import Verdicts
from simtrain.mcp_wire.eras import HANDSHAKE, MODERN, VERSION_KEY
from simtrain.values.types import JsonObject, as_object
from simtrain.worlds.recorded.recording import Frame, Recorder, Sender


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The context of a frame: its session (under the journal's own name), the number of its HTTP request, HTTP status, and era."""

    session: str | None = None
    http: int | None = None
    status: int | None = None
    era: str | None = None


class RelayJournal:
    """Counts the frames of a relay, and passes them to the recorder and the verdicts, if there are any."""

    def __init__(self, recorder: Recorder | None, verdicts: Verdicts | None = None) -> None:
        self._verdicts = verdicts
        self._recorder = recorder
        self._sessions: dict[str, str] = {}
        self._https = count(1)
        self.frames = 0

    def now(self) -> float:
        """Return seconds since the recording began."""
        return self._recorder.now() if self._recorder is not None else 0.0

    def next_http(self) -> int:
        """Return the number of a new HTTP request."""
        return next(self._https)

    def session(self, identity: str | None) -> str | None:
        """Return the journal's own name for a session. The session id is not recorded, since it would give access."""
        if identity is None:
            return None
        return self._sessions.setdefault(identity, f"s{len(self._sessions) + 1}")

    def frame(
        self,
        sender: Sender,
        frame: JsonObject | None,
        wrapping: Wrapping,
        *,
        seconds: float | None = None,
        perturbed: JsonObject | None = None,
    ) -> None:
        """Record a frame that passed."""
        self.frames += 1
        if self._verdicts is not None:
            self._verdicts.see(sender, frame, perturbed, wrapping.session, wrapping.http)
        if self._recorder is not None:
            moment = self.now() if seconds is None else seconds
            session, http, status, era = wrapping.session, wrapping.http, wrapping.status, wrapping.era
            self._recorder.write(Frame(0, moment, sender, frame, session, era, http, status, perturbed=perturbed))

    def stray(self, sender: Sender, data: bytes, wrapping: Wrapping) -> None:
        """Record input that is not a frame."""
        if self._recorder is not None and data.strip():
            text = data.decode(errors="replace").rstrip("\r\n")
            session, http, status = wrapping.session, wrapping.http, wrapping.status
            self._recorder.write(Frame(0, self.now(), sender, None, session, http=http, status=status, text=text))


def era_of(frame: JsonObject) -> str | None:
    """Return the era that a client's request shows; None if it shows none."""
    if VERSION_KEY in as_object(as_object(frame.get("params")).get("_meta")):
        return MODERN
    return HANDSHAKE if frame.get("method") == "initialize" else None
