"""The core of a text editor."""

from inkwell.buffer import Buffer, InkwellError
from inkwell.editor import Editor
from inkwell.edits import Edit
from inkwell.history import History
from inkwell.indent import commented, dedented, indented
from inkwell.marks import Marks
from inkwell.places import Place, Span
from inkwell.rings import Ring
from inkwell.search import Finder
from inkwell.view import View
from inkwell.wrap import Wrapping, column_of, width_of

__all__ = [
    "Buffer",
    "Edit",
    "Editor",
    "Finder",
    "History",
    "InkwellError",
    "Marks",
    "Place",
    "Ring",
    "Span",
    "View",
    "Wrapping",
    "column_of",
    "commented",
    "dedented",
    "indented",
    "width_of",
]
