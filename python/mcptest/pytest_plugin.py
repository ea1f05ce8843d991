"""The pytest plugin: recorded agent tests, and suites as tests.

A test with the marker ``mcptest`` is agent code. ``pytest --mcptest-record`` runs it between the proxies of ``mcptest record``
and writes its traces next to the test. Without the option the recorded traces are judged, and the code does not run. There is
one pytest item per run and gate.
"""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Callable
from typing import Any, Literal

import pytest
from _pytest.runner import runtestprotocol

from mcptest._cassettes import Cassette, Cassettes, RecordingState
from mcptest._record import Recording
from mcptest._recorded_test import Check, RecordedTest
from mcptest._suite_items import SuiteFile
from mcptest.errors import McptestError

_PARAMETER = "_mcptest_check"
_RECORDING = pytest.StashKey["Recording | None"]()
_SESSION = pytest.StashKey[str]()
_LATEST = pytest.StashKey["tuple[object, list[Cassette]]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records."""
    group = parser.getgroup("mcptest", "tests of AI agents")
    group.addoption(
        "--mcptest-record",
        action="store_true",
        help="run agent tests and record them; without it their recordings are judged",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and name this run of pytest."""
    config.addinivalue_line(
        "markers",
        "mcptest(gates, runs=1, at_least=None, servers=None, model='required'): an agent test that is recorded once and "
        "judged by gates on every run",
    )
    worker = getattr(config, "workerinput", None)
    config.stash[_SESSION] = worker["testrunuid"] if worker else uuid.uuid4().hex


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make an item for every run and gate of an agent test."""
    marker = metafunc.definition.get_closest_marker("mcptest")
    if marker is None:
        return
    checks: list[Check] = []
    try:
        checks = RecordedTest.of(marker, metafunc.definition.path).checks()
        wrong = None
    except McptestError as error:
        wrong = f"{metafunc.definition.name}: {error}"
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)
    metafunc.fixturenames.append(_PARAMETER)
    metafunc.parametrize(_PARAMETER, checks, ids=[check.id for check in checks], indirect=True)


@pytest.fixture(name=_PARAMETER)
def _check(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(name="mcptest")
def _mcptest(request: pytest.FixtureRequest) -> Recording:
    """Return the recording of an agent test: where its servers are, and where its answer goes."""
    recording: Recording | None = request.node.stash.get(_RECORDING, None)
    if recording is None:
        pytest.fail("the fixture `mcptest` is for tests with @pytest.mark.mcptest(gates=..)", pytrace=False)
    return recording


def pytest_collect_file(file_path: Any, parent: pytest.Collector) -> SuiteFile | None:
    """Collect suites next to tests."""
    if file_path.name.endswith((".mcptest.yml", ".mcptest.yaml")):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


def _check_of(item: pytest.Item) -> Check | None:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(_PARAMETER) if callspec is not None else None


def _cassettes(item: pytest.Item, check: Check) -> Cassettes:
    assert isinstance(item, pytest.Function)
    parameters = item.callspec.id.removesuffix(check.id).removesuffix("-")
    names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    names.append(item.originalname + (f"[{parameters}]" if parameters else ""))
    values = {name: value for name, value in item.callspec.params.items() if name != _PARAMETER}
    return Cassettes(item.path, ".".join(names), check.test.inputs(item.function, values))


class _NoItem:
    """What comes after a run that is not the last: the same test, without its fixtures."""

    def __init__(self, item: pytest.Item) -> None:
        self._chain = item.listchain()[:-1]

    def listchain(self) -> list[Any]:
        return self._chain


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse what cannot be recorded: it would run without being judged."""
    if item.get_closest_marker("mcptest") is not None and _check_of(item) is None:
        pytest.fail(
            "the marker `mcptest` has no effect here: this test would call its model, and nothing would be judged\n"
            "hint: mark a test function or a method of a plain class, not a method of unittest.TestCase or a parameter",
            pytrace=False,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Record all runs of a test before its first item is judged."""
    check = _check_of(item)
    if check is None or not isinstance(item, pytest.Function):
        return None
    if item.config.getoption("--mcptest-record"):
        reports: list[pytest.TestReport] = []
        call = _call(lambda: reports.extend(_recorded(item, check)), "call")
        if call.excinfo is not None:
            reports.append(_report(item, call))
        if reports:
            # The fixtures of modules are kept for the next run, and there is none.
            call = _call(lambda: item.session._setupstate.teardown_exact(nextitem), "teardown")
            if call.excinfo is not None:
                reports.append(_report(item, call))
            _log(item, reports)
            return True
    # The recorded runs are judged. No other plugin gets to run the agent, and its fixtures are not needed.
    item.fixturenames = []
    item._initrequest()
    item.runtest = lambda: _judge(check, _cassettes(item, check), item)  # type: ignore[method-assign]
    return None


def _call(work: Callable[[], None], when: Literal["call", "teardown"]) -> pytest.CallInfo[None]:
    return pytest.CallInfo.from_call(work, when=when, reraise=(pytest.exit.Exception, KeyboardInterrupt))


def _recorded(item: pytest.Function, check: Check) -> list[pytest.TestReport]:
    """Record a test unless another process has. Returns what was not a pass."""
    cassettes = _cassettes(item, check)
    state = RecordingState(cassettes, item.config.stash[_SESSION])
    with state.lock:
        if state.failure() is not None:
            return []
        reports = _record(item, check.test, cassettes)
        failed = next((one for one in reports if one.failed), None)
        if failed is not None:
            state.done(f"the recording failed: {_reason(failed)}")
        elif not reports:
            state.done("")
        return reports


def _reason(report: pytest.TestReport) -> str:
    """Return the line of a report that says what went wrong."""
    lines = report.longreprtext.strip().splitlines() or [report.when or "unknown"]
    return next((line for line in lines if line.startswith("error")), lines[-1])


def _log(item: pytest.Item, reports: list[pytest.TestReport]) -> None:
    """Report what happened to an incomplete recording."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for one in reports:
        item.ihook.pytest_runtest_logreport(report=one)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _record(item: pytest.Function, test: RecordedTest, cassettes: Cassettes) -> list[pytest.TestReport]:
    """Record all runs. Fixtures are set up for each, inside of its recording. Returns what was not a pass."""
    recordings: list[Recording] = []
    for run in range(1, test.runs + 1):
        reports: list[pytest.TestReport] = []
        item._initrequest()

        def record_run(reports: list[pytest.TestReport] = reports) -> None:
            if not recordings:
                cassettes.start()
            recording = Recording(test.servers, test.model)
            with recording:
                item.stash[_RECORDING] = recording
                following: Any = _NoItem(item)
                reports += runtestprotocol(item, log=False, nextitem=following)
                if any(not one.passed for one in reports):
                    raise _NotRecorded
            recordings.append(recording)
            if len(recordings) == test.runs:
                cassettes.write(recordings)

        try:
            call = _call(record_run, "call")
        finally:
            item.stash.setdefault(_RECORDING, None)
            del item.stash[_RECORDING]
        if call.excinfo is not None:
            if not isinstance(call.excinfo.value, _NotRecorded):
                reports = [one for one in reports if one.when != "call"]
                reports.append(_report(item, call, run))
            return reports
    return []


class _NotRecorded(Exception):
    """A run that did not end well. Its reports say why."""


def _report(item: pytest.Item, call: pytest.CallInfo[None], run: int | None = None) -> pytest.TestReport:
    error = call.excinfo.value if call.excinfo is not None else None
    found = pytest.TestReport.from_item_and_call(item, call)
    if isinstance(error, McptestError):
        found.longrepr = f"{'the test' if run is None else f'run {run}'} was not recorded\n{error}"
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine that no other plugin runs."""
    if _check_of(pyfuncitem) is None:
        return None
    if pyfuncitem.stash.get(_RECORDING, None) is None:
        pytest.fail("another plugin runs this test in a way of its own, so it is neither recorded nor judged", pytrace=False)
    function = pyfuncitem.obj
    is_claimed = any(pyfuncitem.get_closest_marker(name) for name in ("asyncio", "anyio", "trio"))
    if not inspect.iscoroutinefunction(function) or is_claimed:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(function(**arguments))
    return True


def _judge(check: Check, cassettes: Cassettes, item: pytest.Item) -> None:
    text = RecordingState(cassettes, item.config.stash[_SESSION]).failure()
    is_absorbed = False
    if not text:
        try:
            text = check.judge(_runs(check, cassettes, item))
            is_absorbed = check.is_absorbed
        except McptestError as error:
            text = str(error)
    if text is None:
        return
    if is_absorbed:
        pytest.xfail(f"this run failed, and `at_least` judges how often runs may\n{text}")
    pytest.fail(text, pytrace=False)


def _runs(check: Check, cassettes: Cassettes, item: pytest.Item) -> list[Cassette]:
    """Return the recorded runs of a test. They are read once for all of its items, which come one after the other."""
    key = (cassettes.key, cassettes.inputs, check.test.runs)
    latest = item.config.stash.get(_LATEST, None)
    if latest is None or latest[0] != key:
        latest = item.config.stash[_LATEST] = (key, cassettes.read(check.test.runs))
    return latest[1]
