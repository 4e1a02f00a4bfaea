"""Pages of a world that no episode has written to yet: most episodes begin at the same ones."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from simtrain.values.types import JsonValue
from simtrain.worlds.app.web.exchange import SiteAddress

MOST_PAGES = 256
"""Pages that a world keeps; those used last stay."""

PageKey: TypeAlias = tuple[str, SiteAddress, JsonValue]
"""What a page of untouched rows depends on, if it has no messages to show: time, address and user."""


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page as it was rendered; `file_name` is that of a download."""

    html: str
    file_name: str | None
    fragment: bool


class KeptPages:
    """The pages of one world, for all its episodes in all threads."""

    def __init__(self) -> None:
        self._pages: OrderedDict[PageKey, KeptPage] = OrderedDict()
        self._lock = Lock()

    def get(self, key: PageKey) -> KeptPage | None:
        """Return a page; None for one that is not kept."""
        with self._lock:
            found = self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
            return found

    def keep(self, key: PageKey, page: KeptPage) -> None:
        """Keep a page, in place of the one that was used longest ago where there are too many."""
        with self._lock:
            self._pages[key] = page
            if len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)

    def forget(self) -> None:
        """Forget all pages."""
        with self._lock:
            self._pages.clear()
