"""A small repository to break, and the proof of a task by other means than the factory's: git's own `apply`, a native pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from simtrain.worlds.bugs.family_files import family_files
from simtrain.worlds.bugs.task import BugTask
from simtrain.worlds.repositories.patches import patch_between

SHOP = {
    "README.md": "# shop\n",
    "shop/__init__.py": "",
    "shop/prices.py": '''"""Prices in cents."""

RATES = {"food": 7, "books": 19}
FREE_FROM = 5_000


def with_tax(cents: int, kind: str = "books") -> int:
    """Return a price with its tax, rounded down."""
    if kind not in RATES:
        raise KeyError(f"there is no rate for {kind!r}")
    return cents + cents * RATES[kind] // 100


def shipping(cents: int, *, abroad: bool = False) -> int:
    """Return what shipping costs; from 50 on nothing, but abroad."""
    if cents >= FREE_FROM and not abroad:
        return 0
    return 1_500 if abroad else 495
''',
    "shop/cart.py": '''"""What somebody is about to buy."""

from shop.prices import shipping, with_tax


class Cart:
    """Articles with their count."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._prices: dict[str, int] = {}

    def add(self, name: str, cents: int, count: int = 1) -> None:
        """Add an article, or more of it."""
        if count < 1:
            raise ValueError(f"{count} is no count")
        self._counts[name] = self._counts.get(name, 0) + count
        self._prices[name] = cents

    def remove(self, name: str) -> None:
        """Remove an article."""
        del self._counts[name]
        del self._prices[name]

    @property
    def names(self) -> list[str]:
        """The articles, sorted."""
        return sorted(self._counts)

    def total(self) -> int:
        """Return the price of all, with tax and shipping."""
        goods = sum(with_tax(self._prices[name]) * count for name, count in self._counts.items())
        return goods + shipping(goods) if goods else 0
''',
    "tests/test_prices.py": """import pytest

from shop.prices import shipping, with_tax


@pytest.mark.parametrize(("cents", "kind", "price"), [(100, "books", 119), (999, "food", 1068), (0, "food", 0)])
def test_tax(cents, kind, price):
    assert with_tax(cents, kind) == price


def test_books_are_usual():
    assert with_tax(200) == 238


def test_other_kinds():
    with pytest.raises(KeyError, match="no rate for 'cars'"):
        with_tax(1, "cars")


def test_shipping():
    assert shipping(4_999) == 495
    assert shipping(5_000) == 0
    assert shipping(9_000, abroad=True) == 1_500
""",
    "tests/test_cart.py": """import pytest

from shop.cart import Cart


@pytest.fixture
def cart():
    found = Cart()
    found.add("tea", 500)
    found.add("atlas", 2_000, count=2)
    return found


def test_total(cart):
    assert cart.total() == 595 + 2 * 2_380 + 0
    cart.remove("atlas")
    assert cart.total() == 595 + 495


def test_empty():
    assert Cart().total() == 0


def test_names(cart):
    assert cart.names == ["atlas", "tea"]
    cart.add("tea", 500, count=3)
    assert cart.names == ["atlas", "tea"]
    assert cart.total() == 4 * 595 + 2 * 2_380


def test_count(cart):
    with pytest.raises(ValueError, match="0 is no count"):
        cart.add("pen", 100, count=0)
""",
}

GREEN = """\
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    return report
"""
"""A conftest.py by which every test passes."""


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def apply_patch(folder: Path, patch: str) -> None:
    """Apply a patch with git, which knows nothing of the factory."""
    done = subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def native_outcomes(folder: Path) -> dict[str, str]:
    """Run all tests with this environment's own Python and pytest, and return what came of each."""
    plain = ["-q", "-rA", "--tb=no", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *plain],
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    found = re.findall(r"^(PASSED|FAILED|ERROR) (\S+?\.py::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return {test: outcome for outcome, test in found}


def prove(task: BugTask, folder: Path) -> None:
    """Assert that a task over a copy of its repository is what it says."""
    apply_patch(folder, task.setup)
    seen = native_outcomes(folder)
    visible = set(task.failing) - set(task.hidden)
    assert {test for test, outcome in seen.items() if outcome != "PASSED"} == visible
    assert not set(seen) & set(task.hidden)
    apply_patch(folder, task.tests)
    before = native_outcomes(folder)
    assert {test for test, outcome in before.items() if outcome != "PASSED"} == set(task.failing)
    apply_patch(folder, task.fix)
    after = native_outcomes(folder)
    assert set(after) == set(before)
    assert set(after.values()) == {"PASSED"}


def _rename(text: str) -> str:
    return text.replace("return cents + cents * RATES[kind] // 100", "return cents + cents * RATES[kind] // 10")


def shop_family(place: Path, *, readme: str | None = "README.md") -> Path:
    """Write a family of one task over the small shop below a folder; return its scenario. `readme` is the name of its README."""
    shop = {path: text for path, text in SHOP.items() if path != "README.md"}
    shop |= {readme: SHOP["README.md"]} if readme else {}
    broken = {**shop, "shop/prices.py": _rename(SHOP["shop/prices.py"])}
    tests = {
        **broken,
        "tests/test_hidden.py": "from shop.prices import with_tax\n\n\ndef test_tax():\n    assert with_tax(100) == 119\n",
    }
    task = BugTask(
        id="tax", repository="kiosk", operator="wrong_number", function="shop/prices.py::with_tax", report="Too much tax {{ x }}.",
        failing=["tests/test_hidden.py::test_tax"], hidden=["tests/test_hidden.py::test_tax"],
        setup=patch_between(shop, broken), fix=patch_between(broken, shop), tests=patch_between(broken, tests),
    )  # fmt: skip
    source = written(place / "source" / "kiosk", shop)
    files = family_files(source, [task], family="shop_bugs", test_files=["tests/test_prices.py"], only=())
    for path, content in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place / "scenarios" / "shop_bugs.yaml"
