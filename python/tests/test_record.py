"""`record`: a block of agent code between two proxies."""

import asyncio
import os
import signal

import pytest
from support.agent import Agent
from support.model import ARGS, HONEST

import mcptest
from mcptest._engine import ENGINE

GATES = {
    "trajectory": {"mode": "strict", "calls": [{"name": "search", "server": "notes", "args": {"exact": ARGS}, "status": "ok"}]},
    "narrative": {},
}


def test_the_block_is_recorded_on_both_sides(model, notes):
    before = dict(os.environ)
    with mcptest.record({"notes": notes}) as run:
        assert os.environ["OPENAI_BASE_URL"] != before["OPENAI_BASE_URL"]
        answer = Agent().run("What is the note about?", run.url("notes"))
        run.answer = answer
    assert dict(os.environ) == before
    assert answer == HONEST
    mcptest.check(run.trace, GATES)
    assert [call["witness"] for call in run.trace["tool_calls"]] == ["both"]
    assert run.trace["answer_source"] == "program"
    assert run.trace["conversation"]["tokens"] == {"input": 14, "output": 6, "total": 20}
    assert "sk-test-1234567890abcdef" not in str(run.trace)
    assert model.requests == ["/v1/chat/completions"] * 2


def test_code_in_an_event_loop_is_recorded(model, notes):
    async def main():
        with mcptest.record({"notes": notes}) as run:
            await asyncio.to_thread(Agent().run, "What is the note about?", run.url("notes"))
        return run

    mcptest.check(asyncio.run(main()).trace, GATES)


def test_blocks_cannot_overlap(model, notes):
    with pytest.raises(mcptest.RecordError, match="another block of this process is being recorded"):
        with mcptest.record({"notes": notes}):
            with mcptest.record({"notes": notes}):
                pass
    with mcptest.record({"notes": notes}) as run:
        Agent().run("What is the note about?", run.url("notes"))
    mcptest.check(run.trace, GATES)
    with pytest.raises(mcptest.RecordError, match="a recording can be used once"), run:
        pass


def test_a_client_from_before_the_block_is_reported(model, notes):
    agent = Agent()
    with pytest.raises(
        mcptest.RecordError, match=r"error\[model-unseen\]: .*\nhint: create clients inside of the recorded block"
    ):
        with mcptest.record():
            agent.ask([{"role": "user", "content": "hi"}])
    with pytest.raises(mcptest.RecordError, match="server `notes` was not seen: no client connected to it"):
        with mcptest.record({"notes": notes}):
            Agent().ask([{"role": "user", "content": "hi"}])


def test_without_a_model_only_tools_are_recorded(notes):
    from support.agent import Server

    with mcptest.record({"notes": notes}, model="unseen") as run:
        Server(run.url("notes")).call("search", ARGS)
    assert [call["name"] for call in run.trace["tool_calls"]] == ["search"]
    assert "witness" not in run.trace["tool_calls"][0]


def test_a_block_of_which_nothing_can_be_seen_is_an_error():
    with pytest.raises(mcptest.RecordError, match=r"error\[model-unseen\]"), mcptest.record(model="unseen"):
        pass


def test_a_block_that_raises_gives_a_trace_that_never_passes(model, notes):
    before = dict(os.environ)
    run = mcptest.record({"notes": notes})
    with pytest.raises(ZeroDivisionError), run:
        Agent().run("What is the note about?", run.url("notes"))
        raise ZeroDivisionError
    assert dict(os.environ) == before
    assert run.trace["program"]["incomplete"] == "the block raised ZeroDivisionError"
    assert [result.verdict for result in mcptest.score([run.trace], GATES).traces] == ["unassessable"]


def test_an_answer_that_is_not_a_text_is_an_error(model, notes):
    with pytest.raises(mcptest.RecordError, match="`answer` is a text, not an object of the type list"):
        with mcptest.record({"notes": notes}) as run:
            run.answer = [Agent().run("What is the note about?", run.url("notes"))]
    with pytest.raises(mcptest.RecordError, match="there is no trace"):
        _ = run.trace


def test_a_program_that_ends_in_a_block_is_an_error(model, notes):
    before = dict(os.environ)
    with pytest.raises(mcptest.RecordError, match="the program `mcptest` was ended by signal 9"):
        with mcptest.record({"notes": notes}) as run:
            Agent().run("What is the note about?", run.url("notes"))
            os.kill(ENGINE.program().pid, signal.SIGKILL)
            with pytest.raises(mcptest.EngineError):
                mcptest.score([])
            # Another one has started meanwhile. It knows nothing of this block.
            mcptest.score([])
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ({"no name": "x"}, r"error\[bad-argument\]: --server: `no name` is not a name"),
        ({"a": "'x"}, "the quote ' at column 1 is not closed"),
        ({"a-b": "x", "a_b": "x"}, "two servers have the variable MCPTEST_URL_A_B"),
    ],
)
def test_wrong_servers_are_errors(servers, message):
    with pytest.raises(mcptest.RecordError, match=message), mcptest.record(servers):
        pass


def test_mistakes_in_the_call_are_errors():
    with pytest.raises(mcptest.InputError, match="server 'a' is a command, a list of its words, or a URL"):
        mcptest.record({"a": 7})
    with pytest.raises(mcptest.InputError, match="servers are a dictionary of names and commands or URLs, not list"):
        mcptest.record(["python shop.py"])
    with pytest.raises(mcptest.InputError, match="model is 'required' or 'unseen'"):
        mcptest.record(model="maybe")
    with pytest.raises(mcptest.RecordError, match="the recording has not started"):
        mcptest.record().url("a")
    with pytest.raises(mcptest.RecordError, match="there is no trace: the recorded block has not ended"):
        _ = mcptest.record().trace


def test_the_environment_of_this_moment_leads_the_servers(model, tmp_path, monkeypatch, notes):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTES_MARK", "set later")
    script = tmp_path / "server.sh"
    script.write_text('#!/bin/sh\necho "$NOTES_MARK in $(pwd)" > seen.txt\nexec "$@"\n')
    script.chmod(0o755)
    with mcptest.record({"notes": ["./server.sh", *notes]}) as run:
        Agent().run("What is the note about?", run.url("notes"))
    assert (tmp_path / "seen.txt").read_text() == f"set later in {tmp_path}\n"
