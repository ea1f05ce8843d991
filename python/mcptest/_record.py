"""Recording: ``record`` around agent code."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from mcptest._engine import ENGINE, Program
from mcptest.errors import EngineError, InputError, RecordError

_ACTIVE = threading.Lock()


class Recording:
    """The block that is recorded, and afterwards its trace. Made by :func:`record`."""

    def __init__(self, servers: Mapping[str, str | Sequence[str]], model: Literal["required", "unseen"]) -> None:
        """Prepare a recording."""
        if model not in ("required", "unseen"):
            raise InputError(f"model is 'required' or 'unseen', not {model!r}")
        if not isinstance(servers, Mapping):
            raise InputError(f"servers are a dictionary of names and commands or URLs, not {type(servers).__name__}")
        self._servers = [f"{name}={_command(name, place)}" for name, place in servers.items()]
        self._model_unseen = model == "unseen"
        self._program: Program | None = None
        self._session: int | None = None
        self._before: dict[str, str | None] = {}
        self.answer: str | None = None
        """What the agent answered. Without it the last reply of the model is the final response."""
        self.environment: dict[str, str] = {}
        """The variables that lead to the proxies. They are set while the block runs."""
        self.notes: list[str] = []
        """What is unknown about the trace, and why."""
        self.observed: dict[str, Any] = {}
        """What the servers reported about themselves and their tools, once the block has ended."""
        self._trace: dict[str, Any] | None = None

    @property
    def trace(self) -> dict[str, Any]:
        """The trace of the block, once it has ended."""
        if self._trace is None:
            raise RecordError("there is no trace: the recorded block has not ended, or could not be recorded")
        return self._trace

    @property
    def config(self) -> str:
        """A file with all servers in the `mcpServers` format, for clients that speak HTTP."""
        return self._variable("MCPTEST_MCP_CONFIG")

    @property
    def config_stdio(self) -> str:
        """The same for clients that only start programs."""
        return self._variable("MCPTEST_MCP_CONFIG_STDIO")

    def url(self, server: str) -> str:
        """Return the URL of a server, for Streamable HTTP."""
        return self._variable(f"MCPTEST_URL_{server.upper().replace('-', '_')}")

    def _variable(self, name: str) -> str:
        if not self.environment:
            raise RecordError("the recording has not started: use it in a `with` statement")
        if name not in self.environment:
            raise RecordError(f"there is no server for {name}\nhint: name it in record(servers=..)")
        return self.environment[name]

    def __enter__(self) -> Recording:
        """Start the proxies and set the variables."""
        if self.environment:
            raise RecordError("a recording can be used once: call mcptest.record() again")
        if not _ACTIVE.acquire(blocking=False):
            raise RecordError(
                "another block of this process is being recorded, and both would share the environment\n"
                "hint: record one block after the other, or in processes of their own"
            )
        try:
            # What is not UTF-8 cannot be JSON, and leads nowhere.
            known = {name: value for name, value in os.environ.items() if _is_text(name) and _is_text(value)}
            params: dict[str, object] = {"servers": self._servers, "environment": known, "folder": os.getcwd()}
            program = ENGINE.program()
            try:
                started = program.call("record.start", params)
            except InputError as error:
                raise RecordError(str(error)) from None
            self._program, self._session = program, started["session"]
            self.environment = started["variables"]
            for name, value in self.environment.items():
                self._before[name] = os.environ.get(name)
                os.environ[name] = value
        except BaseException:
            _ACTIVE.release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Restore the variables, stop the proxies and derive the trace."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _ACTIVE.release()
        end: dict[str, object] = {"session": self._session, "model_unseen": self._model_unseen}
        wrong: object = None if self.answer is None or isinstance(self.answer, str) else self.answer
        if wrong is not None:
            end["incomplete"] = "its answer is not a text"
        elif self.answer is not None:
            end["answer"] = self.answer
        if error is not None:
            end["incomplete"] = f"the block raised {type(error).__name__}"
        assert self._program is not None
        try:
            finished = self._program.call("record.finish", end)
        except (EngineError, InputError) as failure:
            # What the block raised says more.
            if error is None:
                raise RecordError(str(failure)) from None
            return
        if wrong is not None and error is None:
            raise RecordError(f"`answer` is a text, not an object of the type {type(wrong).__name__}")
        self._trace = finished["trace"]
        self.observed = finished["observed"]
        self.notes = finished["notes"]


def _is_text(value: str) -> bool:
    return not any("\udc80" <= sign <= "\udcff" for sign in value)


def _command(name: str, place: str | Sequence[str]) -> str:
    if isinstance(place, str):
        return place
    if isinstance(place, Sequence) and all(isinstance(word, (str, os.PathLike)) for word in place):
        return shlex.join(os.fspath(word) for word in place)
    raise InputError(f"server {name!r} is a command, a list of its words, or a URL")


def record(
    servers: Mapping[str, str | Sequence[str]] | None = None, *, model: Literal["required", "unseen"] = "required"
) -> Recording:
    """Record the agent code in a ``with`` block, through the proxies of ``mcptest record``.

    ``servers`` are the MCP servers of the agent by name, each a command or a URL. While the block runs, the environment leads
    clients to them and to the model, so clients have to be created inside of it. Nothing seen of the model is an error unless
    ``model`` is ``"unseen"``. One block at a time can be recorded in a process.
    """
    return Recording(servers or {}, model)
