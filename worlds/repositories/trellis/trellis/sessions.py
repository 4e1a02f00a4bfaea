"""What is kept about a visitor, in a signed cookie."""

import json
from collections.abc import Callable

from trellis.cookies import Signer
from trellis.errors import HttpError
from trellis.messages import Request, Response


class Session(dict):
    """Values by name, and whether they changed."""

    def __init__(self, values: dict | None = None) -> None:
        super().__init__(values or {})
        self._before = json.dumps(self, sort_keys=True)

    @property
    def is_changed(self) -> bool:
        """Whether it differs from what the client has."""
        return json.dumps(self, sort_keys=True) != self._before

    def flash(self, message: str) -> None:
        """Keep a message for the next page."""
        self.setdefault("_flashes", []).append(message)

    def flashes(self) -> list[str]:
        """Return the messages that were kept, once."""
        return self.pop("_flashes", [])


class Sessions:
    """A middleware that puts a session into `request.state["session"]`."""

    def __init__(self, signer: Signer, *, name: str = "session", max_age: int = 86_400) -> None:
        self._signer = signer
        self._name = name
        self._max_age = max_age

    def __call__(self, request: Request, following: Callable[[Request], Response]) -> Response:
        session = self.read(request)
        request.state["session"] = session
        response = following(request)
        if session.is_changed:
            self.write(session, request, response)
        return response

    def read(self, request: Request) -> Session:
        """Return the session of a request; an empty one if it has none that is good."""
        signed = request.cookies.get(self._name)
        if not signed:
            return Session()
        try:
            return Session(json.loads(self._signer.read(signed, request.now, self._max_age)))
        except (HttpError, ValueError):
            return Session()

    def write(self, session: Session, request: Request, response: Response) -> None:
        """Let the client keep a session, or forget an empty one."""
        if not session:
            response.delete_cookie(self._name)
            return
        signed = self._signer.sign(json.dumps(session), request.now)
        response.set_cookie(self._name, signed, max_age=self._max_age)
