"""What is wrong with a request."""

REASONS = {
    200: "OK",
    201: "Created",
    204: "No Content",
    301: "Moved Permanently",
    302: "Found",
    303: "See Other",
    304: "Not Modified",
    307: "Temporary Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    429: "Too Many Requests",
    500: "Internal Server Error",
}


class HttpError(Exception):
    """A status, a message for the client, and headers that belong to the answer."""

    def __init__(
        self, status: int, message: str = "", headers: dict[str, str] | None = None
    ) -> None:
        self.status = status
        self.message = message or REASONS.get(status, "Error")
        self.headers = headers or {}
        super().__init__(f"{status} {self.message}")
