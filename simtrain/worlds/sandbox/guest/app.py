"""What runs inside the component: brings the standard library and pytest into the snapshot, then plays `python3` once.

componentize-py imports this module while it builds. What is imported then lies ready in memory at each start.
"""

import gc
import os

import layout
import platform_calls
import shelf
import wit_world

_HERE = os.path.dirname(__file__)
# Where componentize-py lays the standard library, and where the build lays the packages and wants the library.
_REAL_LIBRARY, _REAL_PACKAGES, _KEPT_LIBRARY = "/python", f"{_HERE}/packages", f"{_HERE}/library"

_BARE = shelf.bare_modules()
platform_calls.install()
layout.settle(_BARE)
shelf.fill(real_library=_REAL_LIBRARY, real_packages=_REAL_PACKAGES)

import command
import preparing

preparing.adapt()
shelf.close(_BARE)
shelf.keep_library(_REAL_LIBRARY, _KEPT_LIBRARY)
shelf.let_go(_BARE)
# What is let go at the start of a run is memory that is touched, and so copied.
platform_calls.forget_files()
# Else the first collection of a run would walk, and so copy, all of this.
gc.collect()
gc.freeze()


class WitWorld(wit_world.WitWorld):
    """The exports of the component."""

    def prepare(self) -> None:
        """Do what every run begins with: called in the warm process, whose children play."""
        # Here, since componentize-py puts its own modules back when it has imported this one.
        shelf.open_at_start(_BARE)
        gc.freeze()

    def run(self, request: str) -> str:
        """Play one command line."""
        return command.play(request, calls=platform_calls, sleep=wit_world.sleep, leave=wit_world.leave)
