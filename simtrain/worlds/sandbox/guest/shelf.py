"""The shelf: modules imported while the component is built, kept out of `sys.modules` until a program imports them.

An import then costs microseconds, and is still decided by `sys.path`, as it is in CPython: a file of the program named like a module
of the standard library hides that module, also from the modules that import it.
"""

import builtins
import importlib
import os
import pkgutil
import sys
from contextlib import suppress
from importlib.machinery import SOURCE_SUFFIXES, BuiltinImporter, FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import resolve_name
from types import ModuleType

import layout

LEFT_OUT = {
    "_android_support",
    "_apple_support",
    "_ios_support",
    "test",
    "idlelib",
    "tkinter",
    "turtledemo",
    "turtle",
    "ensurepip",
    "antigravity",
    "this",
    "__phello__",
    "pydoc_data",
}
"""Modules of the standard library that are not imported while building: of no use here, or with effects when imported."""

_LOADED_AT_START = {
    *("sys", "builtins", "_frozen_importlib", "_imp", "_thread", "_warnings", "_weakref", "_io", "marshal", "posix"),
    *("_frozen_importlib_external", "time", "zipimport", "_codecs", "codecs", "encodings", "encodings.aliases"),
    *(
        "encodings.utf_8",
        "_signal",
        "_abc",
        "abc",
        "io",
        "__main__",
        "_stat",
        "stat",
        "_collections_abc",
        "genericpath",
    ),
    *("posixpath", "os.path", "os", "_sitebuiltins", "site"),
}
"""What CPython has in `sys.modules` before a program's first line."""

_SHELVED: dict[str, ModuleType] = {}
_NEEDS: dict[str, tuple[str, ...]] = {}
_NEEDED_NAMES: dict[str, frozenset[str]] = {}
_REAL: dict[str, str] = {}
_ALIASES: dict[str, dict[str, ModuleType]] = {}
_AFTER: dict[str, object] = {}
_KEPT: list[object] = []
failed: dict[str, str] = {}
"""What could not be imported, and why."""


def bare_modules() -> dict[str, ModuleType]:
    """Return the modules to be loaded at start, and forget the others, so that they are imported again from their final paths."""
    return {
        name: module
        for name, module in sys.modules.items()
        if name in _LOADED_AT_START or name in sys.builtin_module_names
    }


def _final(path: str) -> str | None:
    for real, final in _REAL.items():
        if path.startswith(f"{real}/"):
            return final + path[len(real) :]
    return None


class _BakingLoader(SourceFileLoader):
    """Runs a module as if its file lay where it will lie for programs."""

    def __init__(self, name: str, real: str, final: str) -> None:
        super().__init__(name, real)
        self._final_path = final

    def get_code(self, fullname: str) -> object:
        return compile(self.get_data(self.path), self._final_path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._final_path
        super().exec_module(module)


class _Baking:
    """Finds modules while building."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        final = _final(spec.origin)
        if final is None:
            return spec
        baked = ModuleSpec(name, _BakingLoader(name, spec.origin, final), origin=spec.origin, is_package=False)
        baked.has_location = True
        baked.submodule_search_locations = spec.submodule_search_locations
        return baked


def _recording(plain: object, needs: dict[str, dict[str, None]]) -> object:
    """Return an `__import__` that notes which modules a module imports while it is being imported."""

    def imported(
        name: str, scope: object = None, local: object = None, fromlist: object = (), level: int = 0
    ) -> object:
        found = plain(name, scope, local, fromlist, level)
        asking = (scope or {}).get("__name__")
        spec = (scope or {}).get("__spec__")
        if asking and getattr(spec, "_initializing", False):
            full = resolve_name("." * level + name, scope.get("__package__")) if level else name
            noted = needs.setdefault(asking, {})
            noted[full] = None
            for one in fromlist or ():
                if f"{full}.{one}" in sys.modules:
                    noted[f"{full}.{one}"] = None
        return found

    return imported


def fill(real_packages: str, real_library: str) -> None:
    """Import the standard library, pytest and what it needs, as far as this platform has them."""
    _REAL.update({real_packages: layout.PACKAGES, real_library: layout.LIBRARY})
    for name in [
        name
        for name in sys.modules
        if name not in bare_modules() and name not in {"app", "shelf", "layout", "wit_world"}
    ]:
        if name.partition(".")[0] not in {
            "componentize_py_runtime",
            "componentize_py_types",
            "componentize_py_async_support",
        }:
            del sys.modules[name]
    needs: dict[str, dict[str, None]] = {}
    plain = builtins.__import__
    sys.meta_path.insert(0, _Baking)
    builtins.__import__ = _recording(plain, needs)
    path = list(sys.path)
    sys.path[:] = [real_library, real_packages]
    try:
        _import_all(sorted(sys.stdlib_module_names - LEFT_OUT))
        _import_all(sorted(item.name for item in pkgutil.iter_modules([real_packages])))
    finally:
        builtins.__import__ = plain
        sys.meta_path.remove(_Baking)
        sys.path[:] = path
    _NEEDS.update({name: tuple(found) for name, found in needs.items()})


def _import_all(names: list[str]) -> None:
    for name in names:
        if name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(name)
        # What this platform lacks fails in its own way, and must fail so again for programs: it stays on disk.
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"
            for left in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
                if left == name:
                    del sys.modules[left]
            continue
        if hasattr(module, "__path__") and not name.startswith("pygments."):
            _import_all(sorted(f"{name}.{item.name}" for item in pkgutil.iter_modules(module.__path__)))


def close(bare: dict[str, ModuleType]) -> None:
    """Put everything on the shelf that a program has not imported when it starts."""
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None) or ""
        if name in bare or name in sys.builtin_module_names or not origin.startswith((layout.LIBRARY, layout.PACKAGES)):
            continue
        # By the spec: _collections_abc calls itself collections.abc.
        if module.__spec__.name == name:
            _SHELVED[name] = module
    for name, module in list(sys.modules.items()):
        # A package may enter a module under a second name, as collections does with collections.abc.
        owner = name.rpartition(".")[0]
        if owner in _SHELVED and name not in _SHELVED:
            _ALIASES.setdefault(owner, {})[name] = module
    for name, module in _SHELVED.items():
        spec = module.__spec__
        spec.origin = module.__file__
        spec.loader = module.__loader__ = SourceFileLoader(name, module.__file__)
        spec.cached = None
        if spec.submodule_search_locations is not None:
            folder = os.path.dirname(module.__file__)
            spec.submodule_search_locations = [folder]
            module.__path__ = [folder]
        parent, _, child = name.rpartition(".")
        if parent in _SHELVED and getattr(_SHELVED[parent], child, None) is module:
            delattr(_SHELVED[parent], child)
    for name in _SHELVED:
        _NEEDED_NAMES[name] = _closure(name)
    # Loaded before there was a shelf, from where the library lay then: encodings beside UTF-8 are imported by name.
    encodings = sys.modules["encodings"]
    encodings.__path__ = encodings.__spec__.submodule_search_locations = [f"{layout.LIBRARY}/encodings"]


def _closure(name: str) -> frozenset[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _NEEDS.get(one, ())
    return frozenset(one.partition(".")[0] for one in found) & {one for one in _SHELVED if "." not in one}


class _ShelfLoader:
    """Hands out a module from the shelf, once: imported again, it is read from its file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = self.module = _SHELVED.pop(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec
        # Before what it needs, which may be one of them.
        sys.modules.update(_ALIASES.get(self.name, {}))
        for need in _NEEDS.get(self.name, ()):
            # What was imported once is there; only a program can have taken it away.
            if need not in sys.modules:
                with suppress(ImportError):
                    importlib.import_module(need)
        after = _AFTER.get(self.name)
        if after is not None:
            after(module)


class ShelfFinder:
    """Finds the modules of one folder of the library: on the shelf, or else as files."""

    def __init__(self, folder: str) -> None:
        if (
            folder != layout.LIBRARY
            and folder != layout.PACKAGES
            and not folder.startswith((f"{layout.LIBRARY}/", f"{layout.PACKAGES}/"))
        ):
            raise ImportError("not a folder of the library")
        self.folder = folder
        self._files = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))

    def find_spec(self, fullname: str, target: object = None) -> ModuleSpec | None:
        """Return where a module comes from; None if this folder does not have it."""
        module = _SHELVED.get(fullname)
        if module is None or hidden() & _NEEDED_NAMES[fullname]:
            return self._files.find_spec(fullname, target)
        inside = os.path.dirname(module.__path__[0] if hasattr(module, "__path__") else module.__file__)
        if inside != self.folder:
            return None
        spec = ModuleSpec(
            fullname, _ShelfLoader(fullname), origin=module.__file__, is_package=hasattr(module, "__path__")
        )
        spec.submodule_search_locations = module.__spec__.submodule_search_locations
        return spec

    def invalidate_caches(self) -> None:
        """Forget what was read of the folder."""
        _HIDDEN.clear()
        self._files.invalidate_caches()


_HIDDEN: dict[tuple[str, ...], frozenset[str]] = {}


def hidden() -> frozenset[str]:
    """Return the names of library modules that files on `sys.path` hide."""
    key = tuple(sys.path)
    found = _HIDDEN.get(key)
    if found is None:
        names: set[str] = set()
        for folder in key:
            # What comes behind the standard library can only hide packages.
            if folder in (layout.LIBRARY, layout.PACKAGES):
                continue
            try:
                entries = os.listdir(folder or ".")
            except OSError:
                continue
            names.update(entry.partition(".")[0] for entry in entries if entry.endswith(".py") or "." not in entry)
        found = _HIDDEN[key] = frozenset(names)
    return found


def after(name: str, then: object) -> None:
    """Call `then` with a module whenever it is taken from the shelf."""
    _AFTER[name] = then


def keep_library(real: str, into: str) -> None:
    """Copy the sources of the standard library, for programs to read and for what is not on the shelf."""
    for folder, folders, files in os.walk(real):
        folders[:] = sorted(
            one
            for one in folders
            if one not in {"__pycache__", "test", "tests", "idlelib", "turtledemo", "ensurepip", "tkinter"}
        )
        goal = into + folder[len(real) :]
        os.makedirs(goal, exist_ok=True)
        for name in files:
            if name.endswith((".py", ".txt")):
                with open(f"{folder}/{name}", "rb") as source, open(f"{goal}/{name}", "wb") as copy:
                    copy.write(source.read())


def let_go(bare: dict[str, ModuleType]) -> None:
    """Forget what is on the shelf, all but the modules of this component, which are still being imported."""
    for name in _SHELVED:
        if name not in bare:
            sys.modules.pop(name, None)
    sys.path_importer_cache.clear()


def open_at_start(bare: dict[str, ModuleType]) -> None:
    """Leave in `sys.modules` what CPython has there, and find everything else on the shelf."""
    for name in [name for name in sys.modules if name not in bare and name not in sys.builtin_module_names]:
        # Kept: taking a module apart touches, and so copies, all the memory that it is made of.
        _KEPT.append(sys.modules.pop(name))
    sys.path_hooks.insert(0, ShelfFinder)
    _KEPT.extend(sys.path_importer_cache.values())
    sys.path_importer_cache.clear()
    assert BuiltinImporter in sys.meta_path
