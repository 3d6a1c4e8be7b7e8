"""What mypy and pyright make of a user's program: inferred types and messages, word for word."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "program.py"
SOURCE = HERE.parents[1] / "src"
QUALIFIERS = re.compile(
    r"\b(?:koken\.define\.\w+|koken\.model\.\w+|program|datetime|pathlib)\.(?=[A-Za-z])"
)

TYPES = {
    "reveal_type(delay_report)": (
        "Job[[day: date | None =], Report]",
        "Job[(day: date | None = None), Report]",
    ),
    "reveal_type(greet)": (
        "Job[[url: str =], int]",
        'Job[(url: str = "https://example.org"), int]',
    ),
    "reveal_type(fetch)": (
        "Job[[url: str, *, tries: int =], list[int]]",
        "Job[(url: str, *, tries: int = 1), list[int]]",
    ),
    "reveal_type(fetch_all)": ("Job[[], str]", "Job[(), str]"),
    "reveal_type(called)": ("Job[[day: date], Report]", "Job[(day: date), Report]"),
    'reveal_type(Job("elsewhere"))': ("Job[..., Any]", "Job[..., Any]"),
    'reveal_type(delay_report.using(delay="5m"))': (
        "Job[[day: date | None =], Report]",
        "Job[(day: date | None = None), Report]",
    ),
    "reveal_type(client.start(delay_report, day=date(2013, 1, 1)))": ("Run[Report]", "Run[Report]"),
    "reveal_type(client.result(client.start(greet)))": ("int", "int"),
    'reveal_type(ctx.step("fetch", fetch, "https://example.org", tries=2))': (
        "list[int]",
        "list[int]",
    ),
    'reveal_type(ctx.step("publish", Publish(), 7))': ("Report", "Report"),
    'reveal_type(ctx.map("load", load, ["flights"]))': ("list[list[Report]]", "list[list[Report]]"),
    'reveal_type(ctx.map("publish", Publish(), [1, 2]))': ("list[Report]", "list[Report]"),
    "reveal_type(ctx.start(greet))": ("Run[int]", "Run[int]"),
    'reveal_type(ctx.ask("Ship it?", bool))': ("bool", "bool"),
    'reveal_type(ctx.wait_signal("go", Report, timeout="1h"))': ("Report", "Report"),
    'reveal_type(ctx.using(compensate=load, max_attempts=3).step("load", load, "flights"))': (
        "list[Report]",
        "list[Report]",
    ),
    'reveal_type(await async_client.start(fetch, "https://example.org"))': (
        "Run[list[int]]",
        "Run[list[int]]",
    ),
    'reveal_type(await ctx.step("load", load, "flights", limit=5))': (
        "list[Report]",
        "list[Report]",
    ),
    'reveal_type(await ctx.step("load slowly", load_slowly, "flights"))': ("Report", "Report"),
    'reveal_type(ctx.step("load", load, "flights"))': ("list[Report]", "list[Report]"),
    "reveal_type(many_options)": (
        "Job[[size: Literal['big'] | Literal['small'], at: datetime], None]",
        "Job[(size: Literal['big', 'small'], at: datetime), None]",
    ),
    "reveal_type(nightly)": (
        "Workflow[[day: date, limit: int =]]",
        "Workflow[(day: date, limit: int = 3)]",
    ),
    "reveal_type(bare)": ("Workflow[[]]", "Workflow[()]"),
    "reveal_type(named)": ("Workflow[[]]", "Workflow[()]"),
    "reveal_type(files)": ("Step[[day: date], list[Path]]", "Step[(day: date), list[Path]]"),
    "reveal_type(table)": ("Step[[file: Path], Report]", "Step[(file: Path), Report]"),
    "reveal_type(site)": (
        "Step[[day: date | None =], Report]",
        "Step[(day: date | None = None), Report]",
    ),
    "reveal_type(drop)": ("def (table: Report)", "(table: Report) -> None"),
    "reveal_type(unmade)": ("def () -> str", "() -> str"),
    'reveal_type(nightly.step(Command("ls"), name="list"))': ("Step[..., Any]", "Step[..., Any]"),
    "reveal_type(client.start(nightly, day=date(2013, 1, 1)))": ("Run[Any]", "Run[Any]"),
    "reveal_type(call(delay_report, day=date(2013, 1, 1)))": ("Report", "Report"),
    'reveal_type(call(fetch, "https://example.org"))': ("list[int]", "list[int]"),
    "reveal_type(test_client.run(greet))": ("Run[int]", "Run[int]"),
    'reveal_type(test_client.fast_forward(test_client.start(fetch, "https://example.org")))': (
        "Run[list[int]]",
        "Run[list[int]]",
    ),
    "reveal_type(test_client.started(fetch))": ("list[Run[list[int]]]", "list[Run[list[int]]]"),
}
"""The line that asks, what mypy answers, what pyright answers."""

MYPY = {
    'client.start(delay_report, day="x")': [
        'Argument "day" to "start" of "Client" has incompatible type "str"; expected "date | None"'
    ],
    "client.start(fetch)": ['Missing positional argument "url" in call to "start" of "Client"'],
    "client.start(plain_function, date(2013, 1, 1))": [
        (
            'Argument 1 to "start" of "Client" has incompatible type "Callable[[date], Report]"; '
            'expected "Job[[date], Any]"'
        )
    ],
    "call(fetch, 7)": [
        (
            'No overload variant of "call" matches argument types '
            '"Job[[str, DefaultNamedArg(int, \'tries\')], list[int]]", "int"'
        ),
    ],
    "delay_report()": ['"Job[[date | None], Report]" not callable'],
    'delay_report.using(dealy="5m")': [
        'Unexpected keyword argument "dealy" for "using" of "Job"; did you mean "delay"?'
    ],
    'delay_report.using(run_at="tomorrow")': [
        (
            'Argument "run_at" to "using" of "Job" has incompatible type "str"; '
            'expected "datetime | None"'
        )
    ],
    'async_client.start(fetch, "https://example.org")': [
        'Value of type "Coroutine[Any, Any, Run[list[int]]]" must be used'
    ],
    'ctx.step("load", load, 7)': [
        (
            'No overload variant of "step" of "Context" matches argument types "str", '
            '"Callable[[str, int], list[Report]]", "int"'
        )
    ],
    'ctx.progress("half")': [
        'Argument 1 to "progress" of "Facts" has incompatible type "str"; expected "float"'
    ],
    "ctx.attempt = 2": ['Property "attempt" defined in "Facts" is read-only'],
    'client.start(nightly, day="x")': [
        'Argument "day" to "start" of "Client" has incompatible type "str"; expected "date"'
    ],
    "client.start(named, 1)": ['Too many arguments for "start" of "Client"'],
    "files(date(2013, 1, 1))": ['"Step[[date], list[Path]]" not callable'],
    '@nightly.step(jion="all_done")': [
        'Unexpected keyword argument "jion" for overloaded function "step" of "Workflow"',
        'Untyped decorator makes function "misspelt_step" untyped',
    ],
    '@app.job(queu="reports")': [
        (
            'Unexpected keyword argument "queu" for overloaded function "job" of "App"; '
            'did you mean "queue"?'
        ),
        'Untyped decorator makes function "misspelt" untyped',
    ],
    '@app.job(overlap="skip")': [
        'No overload variant of "job" of "App" matches argument type "str"',
        'Untyped decorator makes function "no_rule" untyped',
    ],
}

PYRIGHT = {
    'client.start(delay_report, day="x")': [
        (
            'Argument of type "Literal[\'x\']" cannot be assigned to parameter "day" of type '
            '"date | None"'
        )
    ],
    "client.start(fetch)": ['Argument missing for parameter "url"'],
    "client.start(plain_function, date(2013, 1, 1))": [
        (
            'Argument of type "(day: date) -> Report" cannot be assigned to parameter "job" of '
            'type "Job[P@start, R@start]" in function "start"'
        ),
        'Arguments for ParamSpec "P@start" are missing',
    ],
    "call(fetch, 7)": [
        'Argument of type "Literal[7]" cannot be assigned to parameter "url" of type "str"',
    ],
    "delay_report()": ['Object of type "Job[(day: date | None = None), Report]" is not callable'],
    'delay_report.using(dealy="5m")': ['No parameter named "dealy"'],
    'delay_report.using(run_at="tomorrow")': [
        (
            'Argument of type "Literal[\'tomorrow\']" cannot be assigned to parameter "run_at" of '
            'type "datetime | None"'
        )
    ],
    'async_client.start(fetch, "https://example.org")': [
        'Result of async function call is not used; use "await" or assign result to variable'
    ],
    'ctx.step("load", load, 7)': [
        'No overloads for "step" match the provided arguments',
        'Argument of type "Literal[7]" cannot be assigned to parameter "table" of type "str"',
    ],
    'ctx.progress("half")': [
        (
            'Argument of type "Literal[\'half\']" cannot be assigned to parameter "percent" of '
            'type "float" in function "progress"'
        )
    ],
    "ctx.attempt = 2": ['Cannot assign to attribute "attempt" for class "Context"'],
    'client.start(nightly, day="x")': [
        'Argument of type "Literal[\'x\']" cannot be assigned to parameter "day" of type "date"'
    ],
    "client.start(named, 1)": ["Expected 0 positional arguments"],
    "files(date(2013, 1, 1))": ['Object of type "Step[(day: date), list[Path]]" is not callable'],
    '@nightly.step(jion="all_done")': ['No overloads for "step" match the provided arguments'],
    '@app.job(queu="reports")': ['No overloads for "job" match the provided arguments'],
    '@app.job(overlap="skip")': [
        (
            'Argument of type "Literal[\'skip\']" cannot be assigned to parameter "overlap" of '
            'type "OverlapName | Overlap | None" in function "job"'
        )
    ],
}


def test_mypy_infers_and_complains_as_documented(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    said = grouped(ask_mypy(tmp_path))
    assert said == MYPY | {line: [mypy] for line, (mypy, _) in TYPES.items()}


def test_pyright_infers_and_complains_as_documented(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    said = grouped(ask_pyright(tmp_path))
    assert said == PYRIGHT | {line: [pyright] for line, (_, pyright) in TYPES.items()}


def ask_mypy(folder: Path) -> list[tuple[int, str]]:
    """Line numbers and what mypy says of them, types without their modules."""
    config = folder / "mypy.ini"
    config.write_text(
        f"[mypy]\nstrict = true\nmypy_path = {SOURCE}\ndisable_error_code = empty-body\n"
        f"python_version = 3.11\ncache_dir = {folder}/cache\n"
    )
    (folder / "program.py").write_text(PROGRAM.read_text())
    done = run("mypy", "--config-file", str(config), str(folder / "program.py"))
    found = []
    for line in done.splitlines():
        match = re.fullmatch(r".*program\.py:(\d+): (error|note): (.*?)(  \[[\w-]+\])?", line)
        if match and (match[2] == "error" or match[3].startswith("Revealed type")):
            text = re.sub(r'^Revealed type is "(.*)"$', r"\1", match[3])
            found.append((int(match[1]), QUALIFIERS.sub("", text)))
    return found


def ask_pyright(folder: Path) -> list[tuple[int, str]]:
    """Line numbers and what pyright says of them, the first line of each."""
    (folder / "program.py").write_text(PROGRAM.read_text())
    settings = {"extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = run("pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder))
    return [
        (
            each["range"]["start"]["line"] + 1,
            re.sub(r'^Type of ".*" is "(.*)"$', r"\1", each["message"].splitlines()[0]),
        )
        for each in json.loads(done)["generalDiagnostics"]
    ]


def run(tool: str, *arguments: str) -> str:
    """What a checker prints."""
    command = [sys.executable, "-m", tool, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300).stdout


def grouped(messages: list[tuple[int, str]]) -> dict[str, list[str]]:
    """The messages by the code on their line."""
    code = PROGRAM.read_text().splitlines()
    said: dict[str, list[str]] = {}
    for number, text in messages:
        line = code[number - 1].strip()
        if line.startswith("def "):
            line = code[number - 2].strip()
        said.setdefault(line, []).append(text)
    return said
