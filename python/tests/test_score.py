"""`score` and `check`, and everything that can be wrong with what they are given."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import mcptest
from mcptest._engine import ENGINE, binary
from mcptest._recorded_test import RecordedTest
from mcptest._rows import Job
from mcptest._score import Session

GATES = {"narrative": {}}
HONEST = {"tool_calls": [], "final_response": "Nothing to do."}
LIE = {"tool_calls": [], "final_response": "I deleted the note."}
REASON = '"deleted the note": no tool was called'


def test_traces_are_judged_in_order_and_results_are_objects():
    scores = mcptest.score([HONEST, LIE], GATES)
    assert [result.verdict for result in scores.traces] == ["pass", "fail"]
    assert [result.index for result in scores.traces] == [0, 1]
    assert scores.traces[1].failures == [mcptest.Failure("narrative", "narrative.gate_passed", REASON)]
    assert scores.traces[1].metrics["narrative"]["claimed_but_absent"] == 1
    assert (scores.passed, scores.exit_code, scores.groups) == (False, 1, [])
    assert repr(scores) == "<Scores: 2 traces: 1 passed, 1 failed>"


def test_results_are_those_of_the_command_line(tmp_path):
    traces = [{**(LIE if at % 3 == 0 else HONEST), "id": f"t{at}", "group": f"g{at % 7}"} for at in range(1000)]
    gates = {
        **GATES,
        "stability": {},
        "reliability": {"expect": [{"target": "reliability.pass_rate", "matcher": {"schema": {"minimum": 50}}}]},
    }
    (tmp_path / "traces.jsonl").write_text("".join(json.dumps(trace) + "\n" for trace in traces))
    (tmp_path / "gates.yml").write_text(json.dumps(gates))
    typed = [binary(), "score", "traces.jsonl", "--gates", "gates.yml", "--output", "jsonl"]
    done = subprocess.run(typed, cwd=tmp_path, capture_output=True, check=False)
    expected = done.stdout.replace(b'"source":"traces.jsonl"', b'"source":"-"').splitlines()
    assert len(expected) == 1007
    for given in (traces, iter(traces), [json.dumps(trace, indent=2) for trace in traces]):
        scores = mcptest.score(given, gates)
        assert scores.lines == expected
        assert (scores.exit_code, scores.messages) == (done.returncode, done.stderr.decode())
    assert mcptest.score(traces, tmp_path / "gates.yml").lines == expected
    assert {group.group: group.runs for group in scores.groups} == {f"g{at}": 143 if at < 6 else 142 for at in range(7)}


def test_messages_of_known_formats_and_objects_of_sdks_are_traces():
    class Message:
        def model_dump(self, mode, exclude_none):
            assert (mode, exclude_none) == ("json", True)
            return {"role": "assistant", "content": "I deleted the note."}

    chat = [{"role": "user", "content": "Delete the note."}, Message()]
    assert [result.verdict for result in mcptest.score([chat, {"messages": chat}], GATES).traces] == ["fail", "fail"]


def test_large_traces_are_sent_in_several_requests(monkeypatch):
    traces = [{**(LIE if at % 3 == 0 else HONEST), "id": f"t{at}"} for at in range(100)]
    expected = mcptest.score(traces, GATES)
    monkeypatch.setattr(mcptest._score, "_LIMIT", 200)
    assert mcptest.score(traces, GATES).lines == expected.lines


def test_groups_and_outcomes_are_options():
    traces = [{**HONEST, "task": "a", "reward": reward} for reward in (1, 0, 1)]
    scores = mcptest.score(traces, group_by="task", outcome="reward", outcome_pass=1)
    assert [(group.group, group.runs, group.verdict) for group in scores.groups] == [("a", 3, None)]
    assert scores.groups[0].metrics["reliability"]["pass_rate"] == pytest.approx(66.6667)


def test_a_failed_check_raises_what_the_terminal_shows():
    mcptest.check(HONEST, GATES)
    with pytest.raises(AssertionError) as caught:
        mcptest.check(LIE, GATES, name="agent.json")
    assert str(caught.value) == textwrap.dedent(
        """\
        agent.json
        ✗ FAIL      trace 0
            ✗ narrative: 1 of 1 claim without a call, divergence 1.00
              "deleted the note": no tool was called
            it said: "I deleted the note."
            evidence: no tool call was recorded

        1 trace: 1 failed"""
    )


def test_a_trace_that_cannot_be_read_never_passes():
    scores = mcptest.score([HONEST, "{broken", {"x": 1}, "", " \n", None, b'{"final_response": "\xff"}'], GATES)
    assert [result.verdict for result in scores.traces] == ["pass"] + ["error"] * 6
    assert (scores.passed, scores.exit_code) == (False, 2)
    with pytest.raises(mcptest.InputError, match=r"error\[unknown-format\]: trace: byte 0: unknown format"):
        mcptest.check({"x": 1}, GATES)
    with pytest.raises(mcptest.InputError, match="no traces in these inputs"):
        mcptest._score.report([], GATES, "nothing")


class Unwritable:
    def model_dump(self, mode, exclude_none):
        raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("traces", "gates", "options", "message"),
    [
        ([HONEST, {"x": object()}], GATES, {}, "trace 1 cannot be written as JSON: an object of the type object is not JSON"),
        ([HONEST] * 200 + [{"x": float("nan")}], GATES, {}, "trace 200 cannot be written as JSON: Out of range float"),
        ([Unwritable()], GATES, {}, r"trace 0 cannot be written as JSON: model_dump\(\) of Unwritable failed: no such thing"),
        ([HONEST], {"x": object()}, {}, "the gates cannot be written as JSON"),
        (LIE, GATES, {}, "expected a list of traces, not one trace"),
        ([], {"narativ": {}}, {}, r"gates:2:3: error\[unknown-key\]: unknown key `narativ`"),
        ([], {}, {}, r"error\[asserts-nothing\]"),
        ([], 7, {}, "gates are a dictionary or the path of a file, not int"),
        ([], "missing.yml", {}, r"error\[no-such-file\]: .*missing.yml: no such file or folder"),
        ([], GATES, {"format": "xml"}, r"error\[bad-argument\]: .*'xml'"),
        ([], GATES, {"server_prefix": "mail_"}, "server_prefix is a list of texts"),
        ([], GATES, {"outcome": "a..b"}, r"error\[bad-argument\]"),
        ([], GATES, {"outcome": "a"}, r"error\[bad-argument\]: .*\n *--outcome-pass <VALUE>"),
        ([], GATES, {"outcome_pass": 1}, r"error\[bad-argument\]: .*\n *--outcome <PATH>"),
        ([], GATES, {"jobs": 0}, r"error\[bad-argument\]"),
    ],
)
def test_wrong_input_is_an_error_with_the_message_of_the_program(traces, gates, options, message):
    with pytest.raises(mcptest.InputError, match=message):
        mcptest.score(traces, gates, **options)
    assert mcptest.score([HONEST], GATES).passed


def test_gates_that_are_sent_elsewhere_know_their_folder(tmp_path):
    path = tmp_path / "gates.yml"
    path.write_text('trajectory: { calls: [{ name: read, args: { exact: { path: "${SUITE_DIR}" } } }] }')
    trace = {"tool_calls": [{"name": "read", "args": {"path": str(tmp_path)}}], "tool_results": [None]}
    assert mcptest.score([trace], path).passed
    rows = [row for part in Job.of(path, []).score([[json.dumps(trace)]]) for row in part]
    assert [row["verdict"] for row in rows] == ["pass"]
    test = RecordedTest.of(pytest.mark.mcptest(gates="gates.yml", runs=29, at_least=0.9).mark, tmp_path / "test_x.py")
    assert mcptest._score.report([trace], test.checks()[0].gates, "run", folder=test.folder) is None
    assert RecordedTest.of(pytest.mark.mcptest(gates=GATES).mark, tmp_path / "test_x.py").folder == str(tmp_path)


def test_warnings_about_gates_are_warnings():
    with pytest.warns(mcptest.GatesWarning, match="warning"):
        mcptest.score([HONEST], {"trajectory": {"mode": "superset", "calls": []}})


def test_a_program_that_ends_is_an_error_and_the_next_call_starts_another():
    assert mcptest.score([HONEST], GATES).passed
    os.kill(ENGINE.program().pid, signal.SIGKILL)
    with pytest.raises(mcptest.EngineError, match="was ended by signal 9"):
        mcptest.score([HONEST], GATES)
    assert mcptest.score([HONEST], GATES).passed


def test_a_program_that_ends_while_its_reply_is_awaited_is_an_error():
    assert mcptest.score([HONEST], GATES).passed
    pid = ENGINE.program().pid
    os.kill(pid, signal.SIGSTOP)
    killer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(mcptest.EngineError, match="was ended by signal 9"):
        mcptest.score([HONEST], GATES)
    killer.join()


def test_a_score_is_not_continued_by_another_program():
    ENGINE.close()

    def traces():
        yield from [LIE] * 100
        os.kill(ENGINE.program().pid, signal.SIGKILL)
        with pytest.raises(mcptest.EngineError):
            mcptest.score([HONEST], GATES)
        # Its session has the number of the one that was lost.
        others.append(Session(GATES, []))
        yield from [LIE] * 100

    others = []
    with pytest.raises(mcptest.EngineError, match="was ended by signal 9"):
        mcptest.score(traces(), GATES)
    (other,) = others
    assert other.add([HONEST]) + other.finish()[0] == mcptest.score([HONEST], GATES).lines


def test_a_score_is_not_continued_by_a_fork():
    with Session(GATES, []) as session:
        child = os.fork()
        if child == 0:
            # It must never return to pytest.
            try:
                session.add([HONEST])
            except BaseException as error:
                os._exit(0 if "belongs to the process that this one was forked from" in str(error) else 2)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert session.add([LIE]) + session.finish()[0] == mcptest.score([LIE], GATES).lines


def test_an_interrupted_call_does_not_mix_up_replies():
    def traces():
        yield HONEST
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mcptest.score(traces(), GATES)
    assert [result.verdict for result in mcptest.score([LIE], GATES).traces] == ["fail"]


def test_threads_and_forks_have_answers_of_their_own():
    wrong = []

    def work(at):
        for _ in range(20):
            trace = LIE if at % 2 else HONEST
            if [result.verdict for result in mcptest.score([trace] * 3, GATES).traces] != ["fail" if at % 2 else "pass"] * 3:
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_verdict, [HONEST, LIE, HONEST, LIE]) == ["pass", "fail", "pass", "fail"]
    assert mcptest.score([HONEST], GATES).passed


def _verdict(trace):
    return mcptest.score([trace], GATES).traces[0].verdict


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (None, "cannot start .*nothing-here: No such file or directory"),
        ('#!/bin/sh\nread line; echo \'{"id":1,"result":{"protocol":1,"version":"9.9"}}\'', "has the version 9.9, and"),
        ("#!/bin/sh\necho 'error: unrecognized subcommand' >&2; exit 2", "ended with exit code 2\nerror: unrecognized"),
        ('#!/bin/sh\nread line; echo \'{"id":7,"result":{}}\'', 'does not speak .* of this package\nit answered: ."id":7'),
        ("#!/bin/sh\nread line; echo hello", "does not speak the protocol of this package\nit answered: hello"),
    ],
)
def test_a_missing_or_other_program_is_an_error(tmp_path, program, message):
    path = tmp_path / "nothing-here"
    if program:
        path.write_text(program)
        path.chmod(0o755)
    code = "import mcptest\ntry: mcptest.score([])\nexcept mcptest.EngineError as error: print(error)"
    environment = {**os.environ, "MCPTEST_BINARY": str(path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert re.search(message, done.stdout)


def test_the_program_ends_with_python():
    code = "import mcptest; mcptest.score([]); print(mcptest._engine.ENGINE.program().pid)"
    for end in ("", "; import os; os.kill(os.getpid(), 9)"):
        done = subprocess.run([sys.executable, "-uc", code + end], capture_output=True, text=True, check=False)
        pid = int(done.stdout)
        for _ in range(100):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            threading.Event().wait(0.05)
        else:
            pytest.fail(f"process {pid} is still there")
