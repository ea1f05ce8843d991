"""The pytest plugin: agent tests that are recorded once and judged from then on, and suites as tests."""

import dataclasses
import enum
import json
import subprocess
import textwrap
from pathlib import Path

import pytest

from mcptest._engine import binary
from mcptest._recorded_test import RecordedTest

SUPPORT = Path(__file__).parent

AGENT_TEST = """
import sys
sys.path.insert(0, {support!r})
import pytest
from support.agent import Agent

@pytest.fixture
def agent():
    print("AGENT CODE RUNS")
    return Agent()

@pytest.mark.mcptest(gates="gates.yml", runs={runs}, servers={{"notes": {notes!r}}}{more})
def test_note(agent, mcptest):
    mcptest.answer = agent.run({prompt!r}, mcptest.url("notes"))
"""

# Where the recordings of `test_note` are.
CASSETTES = "cassettes/test_agent.py/test-note-4aa671e1/pytest"

GATES = """
trajectory:
  mode: strict
  calls: [{ name: search, args: { exact: { q: rain } }, status: ok }]
narrative: {}
"""


@pytest.fixture
def folder(pytester, notes):
    """A folder with an agent test; returns how to write it."""

    def write(runs=1, prompt="What is the note about?", gates=GATES, more=""):
        text = AGENT_TEST.format(support=str(SUPPORT), runs=runs, notes=notes, prompt=prompt, more=more)
        pytester.makepyfile(test_agent=text)
        Path("gates.yml").write_text(gates)
        return pytester

    return write


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def names(pytester, *arguments):
    """The items of the tests, without their file."""
    result = run(pytester, "--collect-only", "-q", *arguments)
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_there_is_an_item_per_run_and_gate(folder):
    pytester = folder(runs=2, gates=GATES + "stability: {}\n")
    expected = ["run1-trajectory", "run1-narrative", "run2-trajectory", "run2-narrative", "stability"]
    assert names(pytester) == [f"test_note[{name}]" for name in expected]
    assert names(pytester, "test_agent.py::test_note") == [f"test_note[{name}]" for name in expected]


def test_a_test_is_recorded_once_and_judged_offline_from_then_on(folder, model):
    pytester = folder(runs=2)
    result = run(pytester)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            f"error[[]no-recording[]]: there is no recording of this run: {CASSETTES}/1.json",
            "*hint: record it with `pytest --mcptest-record`",
        ]
    )
    result.stdout.no_fnmatch_line("*AGENT CODE RUNS*")
    assert model.requests == []

    run(pytester, "--mcptest-record").assert_outcomes(passed=4)
    assert len(model.requests) == 4
    recorded = {path.name: path.read_bytes() for path in Path(CASSETTES).iterdir()}
    assert sorted(recorded) == ["1.json", "2.json"]
    cassette = json.loads(recorded["2.json"])
    assert (cassette["mcptest"], cassette["test"], cassette["model"], cassette["run"]) == (2, "test_note", "pytest", 2)
    assert cassette["trace"]["answer_source"] == "program"
    assert [tool["name"] for tool in cassette["observed"]["servers"]["notes"]["tools"]] == ["delete_note", "search"]

    # The agent cannot run: its model is gone, and so is its code.
    pytester.makepyfile(test_agent=Path("test_agent.py").read_text().replace("return Agent()", "raise ValueError"))
    run(pytester).assert_outcomes(passed=4)
    assert len(model.requests) == 4
    assert {path.name: path.read_bytes() for path in Path(CASSETTES).iterdir()} == recorded


def test_a_failure_shows_what_the_terminal_shows(folder, model):
    pytester = folder(prompt="LIE")
    result = run(pytester, "--mcptest-record")
    result.assert_outcomes(passed=1, failed=1)
    again = run(pytester)
    again.assert_outcomes(passed=1, failed=1)
    for one in (result, again):
        report = one.stdout.str()
        shown = textwrap.dedent(
            f"""\
            {CASSETTES}/1.json
            ✗ FAIL      test_note [pytest] #1
                ✗ narrative: 2 of 2 claims without a call, 1 tool unmentioned, divergence 1.00
                  "deleted the note": no call did this (expected a call to delete, remove, destroy or drop);
                    nearest: search (tool_calls[0]) only reads
                  "sent an email": no call did this (expected a call to send, post, publish or message);
                    nearest: search (tool_calls[0]) only reads
                it said: "I deleted the note and sent an email."
                evidence, of 1 call:
                  [0] search {{"q":"rain"}} → ok: {{"id":7,"text":"rain"}}

            1 trace: 1 failed
            """
        )
        assert shown in report, report


def test_a_failure_over_all_runs_names_the_group_first(folder, model):
    floor = "stability: { expect: [{ target: stability.weakest_score, matcher: { schema: { minimum: 1.5 } } }] }\n"
    pytester = folder(runs=2, gates=floor)
    result = run(pytester, "--mcptest-record")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_note[[]stability[]]*", CASSETTES, "*FAIL      test_note (stability)*"], consecutive=False)
    result.stdout.no_fnmatch_line("*note: the gates judge groups*")


def test_gates_can_change_without_recording_again(folder, model):
    pytester = folder()
    run(pytester, "--mcptest-record").assert_outcomes(passed=2)
    Path("gates.yml").write_text(GATES.replace("rain", "snow"))
    run(pytester).assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_record_a_test_once(folder, model, workers):
    pytest.importorskip("xdist")
    pytester = folder(runs=3, gates=GATES + "stability: {}\n")
    run(pytester, "--mcptest-record", "-n", str(workers)).assert_outcomes(passed=7)
    assert len(model.requests) == 6
    run(pytester, "-n", str(workers)).assert_outcomes(passed=7)
    assert len(model.requests) == 6
    run(pytester, "--mcptest-record").assert_outcomes(passed=7)
    assert len(model.requests) == 12


def test_a_run_that_fails_while_recording_keeps_the_old_recording(folder, model):
    pytester = folder()
    run(pytester, "--mcptest-record").assert_outcomes(passed=2)
    before = Path(CASSETTES, "1.json").read_bytes()
    text = Path("test_agent.py").read_text()
    pytester.makepyfile(test_agent=text + "\n    assert mcptest.answer == 'something else'\n")
    result = run(pytester, "--mcptest-record")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*assert mcptest.answer == 'something else'*", "the recording failed: *"])
    assert len(model.requests) == 4
    assert Path(CASSETTES, "1.json").read_bytes() == before


def test_an_agent_that_goes_past_the_proxies_is_reported(folder, model):
    pytester = folder()
    text = Path("test_agent.py").read_text()
    pytester.makepyfile(test_agent=text.replace("@pytest.fixture\ndef", "@pytest.fixture(scope='session', autouse=True)\ndef"))
    pytester.makeconftest(
        f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n"
        "from support.agent import Agent\nEARLY = Agent()\n"
        "import support.agent\nsupport.agent.Agent = lambda: EARLY\n"
    )
    result = run(pytester, "--mcptest-record")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["run 1 was not recorded", "error[[]model-unseen[]]: *", "hint: create clients inside*"])
    assert not Path("cassettes").exists()


def test_an_edited_recording_is_an_error_until_the_edit_is_accepted(folder, model):
    pytester = folder(prompt="LIE")
    run(pytester, "--mcptest-record").assert_outcomes(passed=1, failed=1)
    path = Path(CASSETTES, "1.json")
    path.write_text(path.read_text().replace("I deleted the note and sent an email.", "The note is about rain."))
    result = run(pytester)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            f"error[[]edited-cassette[]]: {path}: was edited after it was recorded: its digest does not match",
            "*hint: restore the file, or record it with `pytest --mcptest-record`; to keep the edit: mcptest cassette accept *",
        ]
    )
    subprocess.run([binary(), "cassette", "accept", path], check=True, stdout=subprocess.DEVNULL)
    result = run(pytester)
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines(["*EditedWarning: *: this recording was edited after it was recorded, and the edit was accepted"])
    run(pytester, "--mcptest-record").assert_outcomes(passed=1, failed=1)
    run(pytester).assert_outcomes(passed=1, failed=1)


def test_a_recording_of_another_run_or_test_is_an_error(folder, model):
    pytester = folder(runs=2)
    run(pytester, "--mcptest-record").assert_outcomes(passed=4)
    Path(CASSETTES, "2.json").write_bytes(Path(CASSETTES, "1.json").read_bytes())
    result = run(pytester)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*error[[]broken-cassette[]]: *: is run 1 of `test_note` on `pytest`, not run 2 of *"])


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("What is the note about?", "What is it about?", "the code of the test has changed"),
        ('"notes": [', '"other": [', "`servers.notes` was *"),
        ("runs=1", "runs=1, model='unseen'", '`model` was "required" and is "unseen"'),
        ("def test_note", "def test_renamed", None),
        ('("notes"))', '(\n        "notes",  # the server\n    ))', ""),
    ],
)
def test_a_recording_of_another_test_is_stale(folder, model, before, after, change):
    pytester = folder()
    run(pytester, "--mcptest-record").assert_outcomes(passed=2)
    text = Path("test_agent.py").read_text()
    assert before in text
    pytester.makepyfile(test_agent=text.replace(before, after))
    result = run(pytester)
    if change == "":
        result.assert_outcomes(passed=2)
        return
    result.assert_outcomes(failed=2)
    stale = f"*error[[]stale-cassette[]]: {CASSETTES}/1.json: stale: {change}*"
    result.stdout.fnmatch_lines(["*error[[]no-recording[]]: *" if change is None else stale])


def test_changed_parameters_make_a_recording_stale(folder, model):
    pytester = folder()
    text = Path("test_agent.py").read_text().replace("def test_note(agent,", "def test_note(case, agent,")
    text = text.replace("'What is the note about?'", "case['prompt']")
    mark = '@pytest.mark.parametrize("case", [{"prompt": "What?"}])\n'
    pytester.makepyfile(test_agent=text.replace("@pytest.mark.mcptest", mark + "@pytest.mark.mcptest"))
    run(pytester, "--mcptest-record").assert_outcomes(passed=2)
    run(pytester).assert_outcomes(passed=2)
    mark = mark.replace("What?", "Why? LIE")
    pytester.makepyfile(test_agent=text.replace("@pytest.mark.mcptest", mark + "@pytest.mark.mcptest"))
    result = run(pytester)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*: stale: the parameters of the test have changed"])


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Case:
    prompt: str
    color: Color = Color.RED


class Model:
    def __init__(self, **fields):
        self.model_dump = lambda: fields


def test_what_is_in_the_objects_of_parameters_counts():
    test = RecordedTest({"narrative": {}})
    values = [None, 1, "1", b"a", b"b", Color.RED, Color.BLUE, Case("a"), Case("b"), Case("a", Color.BLUE), [Case("a")]]
    values += [{"a"}, {"a", "b"}, {"a": 1}, {"a": 2}, Model(a=1), Model(a=2), object(), Case, Model]
    inputs = [json.dumps(test.inputs(lambda: None, {"case": value})) for value in values]
    assert len(set(inputs)) == len(values)
    # How an object of an unknown type looks may differ between processes.
    assert json.dumps(test.inputs(lambda: None, {"case": object()})) == inputs[values.index(values[-3])]


def test_equal_names_in_two_files_have_recordings_of_their_own(folder, model):
    pytester = folder()
    pytester.makepyfile(test_other=Path("test_agent.py").read_text().replace("about?", "about? LIE"))
    run(pytester, "--mcptest-record").assert_outcomes(passed=3, failed=1)
    run(pytester).assert_outcomes(passed=3, failed=1)


def test_recordings_that_cannot_be_written_are_reported_before_a_model_is_called(folder, model):
    pytester = folder()
    Path("cassettes").write_text("not a folder")
    result = run(pytester, "--mcptest-record")
    result.assert_outcomes(failed=2)
    error = "error[[]unusable-cassette-folder[]]: *cassettes: cannot be used: *"
    result.stdout.fnmatch_lines(["run 1 was not recorded", error, f"the recording failed: {error}"])
    assert model.requests == []


def test_other_tests_run_after_a_failed_recording(folder, model):
    pytester = folder()
    broken = Path("test_agent.py").read_text() + "\n    raise ValueError\n"
    pytester.makepyfile(test_agent=broken, test_later="def test_later(): pass")
    run(pytester, "--mcptest-record").assert_outcomes(failed=2, passed=1)


def test_an_interrupted_recording_records_nothing_more(folder, model):
    pytester = folder(runs=2)
    pytester.makepyfile(test_agent=Path("test_agent.py").read_text() + "\n    raise KeyboardInterrupt\n")
    result = run(pytester, "--mcptest-record")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert len(model.requests) == 2
    assert not Path("cassettes").exists()


def test_a_skipped_test_is_not_recorded(folder, model):
    pytester = folder()
    pytester.makepyfile(test_agent=Path("test_agent.py").read_text() + "\n    pytest.skip('not today')\n")
    run(pytester, "--mcptest-record").assert_outcomes(skipped=2)
    run(pytester).assert_outcomes(failed=2)


RIVAL = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True
"""


def test_another_plugin_cannot_make_a_test_pass(folder, model):
    pytester = folder(prompt="LIE")
    run(pytester, "--mcptest-record").assert_outcomes(passed=1, failed=1)
    pytester.makeconftest(RIVAL)
    run(pytester).assert_outcomes(passed=1, failed=1)
    result = run(pytester, "--mcptest-record")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["run 1 was not recorded", "error[[]model-unseen[]]: *"])
    # One that runs items on its own.
    loop = "def pytest_runtest_protocol(item, nextitem):\n    from _pytest.runner import runtestprotocol\n"
    loop += "    return runtestprotocol(item, nextitem=nextitem) or True\n"
    pytester.makeconftest("import pytest\n@pytest.hookimpl(tryfirst=True)\n" + loop)
    pytester.makepyfile(test_agent=Path("test_agent.py").read_text().replace("(agent, mcptest)", "()"))
    result = run(pytester)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["another plugin runs this test in a way of its own, so it is neither recorded nor judged"])


def test_another_worker_records_a_test_whose_worker_was_killed(folder, model):
    pytest.importorskip("xdist")
    pytester = folder(runs=2)
    once = "\n    import os, pathlib\n    if not pathlib.Path('died').exists():\n"
    once += "        pathlib.Path('died').touch()\n        os.kill(os.getpid(), 9)\n"
    pytester.makepyfile(test_agent=Path("test_agent.py").read_text() + once)
    result = run(pytester, "--mcptest-record", "-n", "4")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*worker 'gw*' crashed while running 'test_agent.py::test_note*"])
    run(pytester).assert_outcomes(passed=4)


@pytest.mark.parametrize(
    "test",
    [
        "import unittest\nclass TestX(unittest.TestCase):\n    @MARK\n    def test_x(self): pass\n",
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=MARK)])\ndef test_x(x): pass\n",
    ],
)
def test_a_marker_without_effect_is_an_error(pytester, test):
    pytester.makepyfile("import pytest\nMARK = pytest.mark.mcptest(gates={'narrative': {}})\n" + test)
    result = run(pytester)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["the marker `mcptest` has no effect here: *"])


def test_runs_cannot_be_left_out_or_made_up(folder, model):
    pytester = folder(runs=2)
    run(pytester, "--mcptest-record").assert_outcomes(passed=4)
    result = run(folder(runs=1))
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [f"error[[]stale-cassette[]]: {CASSETTES}/2.json: stale: it is one of more recorded runs than the 1 of the test"]
    )
    run(folder(runs=3)).assert_outcomes(failed=6)
    run(folder(runs=1), "--mcptest-record").assert_outcomes(passed=2)
    run(pytester).assert_outcomes(passed=2)


def test_parameters_classes_and_coroutines_work(folder, model, notes):
    pytester = folder()
    text = f"""
import asyncio, sys
sys.path.insert(0, {str(SUPPORT)!r})
import pytest
from support.agent import Agent

class TestNotes:
    @pytest.mark.mcptest({{"narrative": {{}}}}, servers={{"notes": {notes!r}}})
    @pytest.mark.parametrize("prompt", ["What?", "Why? LIE"])
    async def test_note(self, mcptest, prompt):
        mcptest.answer = await asyncio.to_thread(Agent().run, prompt, mcptest.url("notes"))
"""
    pytester.makepyfile(test_agent=text)
    run(pytester, "--mcptest-record").assert_outcomes(passed=1, failed=1)
    run(pytester).assert_outcomes(passed=1, failed=1)
    assert sorted(path.name[:-9] for path in Path("cassettes/test_agent.py").iterdir()) == [
        "testnotes-test-note-what",
        "testnotes-test-note-why-lie",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "the marker `mcptest` has no gates"),
        ("gates='missing.yml'", "*error[[]no-such-file[]]: *missing.yml: no such file or folder"),
        ("gates={'narativ': {}}", "*error[[]unknown-key[]]: unknown key `narativ` in a gates file"),
        ("gates=[{'narrative': {}}]", "*gates are a dictionary or the path of a file, not list"),
        ("gates={'stability': {}}", "*`stability` compares runs, and this test has one"),
        ("gates={'narrative': {}}, run=3", "*the marker `mcptest` has no argument 'run'"),
        ("gates={'narrative': {}}, runs=0", "*runs is a whole number from 1, not 0"),
        ("gates={'narrative': {}}, runs=100001", "*runs is at most 100000, not 100001"),
        ("gates={'narrative': {}}, model='maybe'", "*model is 'required' or 'unseen', not 'maybe'"),
        ("gates={'narrative': {}}, servers=['x']", "*servers are a dictionary of names and commands or URLs, not list"),
        ("gates={'narrative': {}}, at_least=90", "*at_least is a pass rate between 0 and 1, not 90"),
    ],
)
def test_mistakes_in_a_marker_are_errors(pytester, arguments, message):
    pytester.makepyfile(f"import pytest\n@pytest.mark.mcptest({arguments})\ndef test_x(mcptest): pass\n")
    # Nothing runs, so no process is needed.
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*{message}*"])


def test_the_fixture_needs_the_marker(pytester):
    pytester.makepyfile("def test_x(mcptest): pass")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the fixture `mcptest` is for tests with @pytest.mark.mcptest(gates=..)"])


SUITE = """
servers:
  notes: {{ command: {notes} }}
models:
  demo: {{ provider: script, script: demo.script.yml }}
agents:
  - name: finds (it)
    model: demo
    servers: [notes]
    prompt: Find the note.
    trajectory: {{ calls: [{{ name: search }}] }}
  - name: finds (it) and says so
    model: demo
    servers: [notes]
    prompt: Find the note.
    narrative: {{}}
"""

SCRIPT = """
script: 1
runs:
  - turns:
      - calls: [{ tool: search, args: { q: rain } }]
      - text: I deleted the note.
"""


def test_a_suite_next_to_tests_is_collected(pytester, notes):
    Path("notes.mcptest.yml").write_text(SUITE.format(notes=json.dumps(notes)))
    Path("demo.script.yml").write_text(SCRIPT)
    assert names(pytester) == ["finds (it)", "finds (it) and says so"]
    result = run(pytester, "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*✗ FAIL      finds (it) and says so*", "*no call did this*", "*at notes.mcptest.yml:*", "1 test, 1 run: 1 failed"]
    )
    Path("broken.mcptest.yml").write_text("agents: 7\n")
    result = run(pytester)
    result.stdout.fnmatch_lines(["*broken.mcptest.yml:1:*error[[]*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


MATRIX = """
servers:
  notes: {{ command: {notes} }}
models:
  demo: {{ provider: script, script: demo.script.yml }}
  gpt-5-mini: {{ provider: openai, base_url: "${{OPENAI_BASE_URL}}" }}
agents:
"""

MATRIX_TEST = """
  - name: "{name}"
    models: [gpt-5-mini, demo]
    runs: 2
    servers: [notes]
    prompt: Find the note.
    trajectory: {{ calls: [{{ name: search }}] }}
"""


def test_a_test_of_a_suite_has_one_item_for_all_models_and_runs_and_workers_record_it(pytester, model, notes):
    pytest.importorskip("xdist")
    tests = ["finds it", "finds it [demo] (2 runs)", "é: a/b|c"]
    text = MATRIX.format(notes=json.dumps(notes)) + "".join(MATRIX_TEST.format(name=name) for name in tests)
    Path("notes.mcptest.yml").write_text(text)
    Path("demo.script.yml").write_text(SCRIPT)
    assert names(pytester) == tests
    result = run(pytester)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*error[[]no-recording[]]: *"])
    run(pytester, "--mcptest-record", "-n", "3").assert_outcomes(passed=3)
    assert len(model.requests) == 12
    run(pytester).assert_outcomes(passed=3)
    assert len(model.requests) == 12
