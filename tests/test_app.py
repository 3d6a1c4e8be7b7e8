"""``App``: its three ways to declare a job, its modules, and how it is found by address."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from koken.app import App, load_app
from koken.errors import DeclarationError


def test_three_ways_to_declare() -> None:
    app = App("hello")

    @app.job
    def plain() -> int:
        return 1

    @app.job(queue="reports")
    def with_options() -> int:
        return 2

    def later() -> int:
        return 3

    called = app.job(later, name="called")
    assert [job.name for job in app.registry] == ["plain", "with_options", "called"]
    assert (plain.fn(), with_options.fn(), called.fn()) == (1, 2, 3)
    assert with_options.spec.queue == "reports"
    assert repr(app) == "App('hello')"


def test_modules_is_a_list() -> None:
    with pytest.raises(DeclarationError) as caught:
        App("hello", modules="hello.jobs")
    assert str(caught.value) == "app 'hello': modules is a list: ['hello.jobs']."


FILES = {
    "shop.py": "from koken.app import App\napp = App('shop', modules=['shop_jobs'])\nalias = app\n",
    "shop_jobs.py": "from shop import app\n@app.job\ndef sell() -> None: ...\n",
    "two.py": "from koken.app import App\none = App('one')\nother = App('other')\nnumber = 5\n",
    "none.py": "",
    "broken.py": "import nowhere_to_be_found\n",
    "lost.py": "from koken.app import App\napp = App('lost', modules=['lost_jobs'])\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with programs, in which the process stands."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("address", "name"), [("shop:app", "shop"), ("shop", "shop"), ("two:other", "other")]
)
def test_app_by_address(address: str, name: str) -> None:
    assert load_app(address).name == name


def test_load_imports_the_modules() -> None:
    app = load_app("shop:app")
    assert [job.name for job in app.registry] == []
    app.load()
    app.load()
    assert [job.name for job in app.registry] == ["sell"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "shp:app",
            (
                "app is 'shp', but there is no module 'shp' here. "
                "Is the folder right, and is the package installed?"
            ),
        ),
        (
            "shp.jobs:app",
            (
                "app is 'shp.jobs', but there is no module 'shp' here. "
                "Is the folder right, and is the package installed?"
            ),
        ),
        ("shop:ap", "module 'shop' has no 'ap'. Did you mean app?"),
        (
            "two:nothing",
            "module 'two' has no 'nothing'. It has two:one, two:other.",
        ),
        ("two:number", "two:number is an int, not a koken.App. It has two:one, two:other."),
        ("two", "module 'two' has 2 apps. Say which: two:one or two:other."),
        ("none", "module 'none' has no app. Add one: app = koken.App('none')."),
        ("none:app", "module 'none' has no 'app'."),
        ("shop.py", "app 'shop.py' is no address. Write shop:app."),
        ("./shop/jobs.py:app", "app './shop/jobs.py:app' is no address. Write shop.jobs:app."),
        ("", "app '' is no address. Write module:app."),
        (":app", "app ':app' is no address. Write module:app."),
    ],
)
def test_address_that_leads_nowhere(address: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        load_app(address)
    assert str(caught.value) == message


def test_error_inside_a_module_stays_what_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        load_app("broken:app")


def test_module_of_jobs_that_is_missing() -> None:
    with pytest.raises(DeclarationError) as caught:
        load_app("lost").load()
    assert str(caught.value) == (
        "app 'lost': modules names 'lost_jobs', but there is no module 'lost_jobs' here. "
        "Is the folder right, and is the package installed?"
    )
