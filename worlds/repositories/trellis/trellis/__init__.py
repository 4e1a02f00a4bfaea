"""A small web framework."""

from trellis.app import App
from trellis.caching import etag, format_date, not_modified, parse_date
from trellis.client import Client
from trellis.cookies import Signer, format_cookie, parse_cookies
from trellis.errors import HttpError
from trellis.forms import parse_form
from trellis.headers import Headers, parse_options
from trellis.limits import RateLimit
from trellis.messages import Request, Response
from trellis.negotiation import best
from trellis.routing import Router
from trellis.sessions import Sessions
from trellis.urls import build_query, parse_query, quote, unquote

__all__ = [
    "App",
    "Client",
    "Headers",
    "HttpError",
    "RateLimit",
    "Request",
    "Response",
    "Router",
    "Sessions",
    "Signer",
    "best",
    "build_query",
    "etag",
    "format_cookie",
    "format_date",
    "not_modified",
    "parse_cookies",
    "parse_date",
    "parse_form",
    "parse_options",
    "parse_query",
    "quote",
    "unquote",
]
