"""Where Python lies in the machine that a program sees: the paths of a Debian system."""

import sys

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
LIBRARY = f"/usr/lib/{VERSION}"
PACKAGES = "/usr/lib/python3/dist-packages"
LOCAL_PACKAGES = f"/usr/local/lib/{VERSION}/dist-packages"
ZONES = "/usr/share/zoneinfo"
EXECUTABLE = "/usr/bin/python3"
SEARCH_PATH = (
    f"/usr/lib/python{sys.version_info.major}{sys.version_info.minor}.zip",
    LIBRARY,
    f"{LIBRARY}/lib-dynload",
    LOCAL_PACKAGES,
    PACKAGES,
)


def settle(bare: dict[str, object]) -> None:
    """Tell Python that it lies here, while the component is built."""
    sys._stdlib_dir = LIBRARY
    sys.prefix = sys.base_prefix = sys.exec_prefix = sys.base_exec_prefix = "/usr"
    sys.executable = sys._base_executable = EXECUTABLE
    sys.pycache_prefix = None
    for name, module in bare.items():
        if getattr(module, "__file__", None):
            module.__file__ = f"{LIBRARY}/{name.replace('.', '/')}.py"
    sys.modules["encodings"].__file__ = f"{LIBRARY}/encodings/__init__.py"
    sys.modules["os"].path.__file__ = f"{LIBRARY}/posixpath.py"
    sys.modules["site"].PREFIXES[:] = ["/usr"]
    sys.modules["site"].ENABLE_USER_SITE = True
