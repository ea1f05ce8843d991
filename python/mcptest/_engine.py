"""The program behind the package: one ``mcptest serve-json`` per process, started when it is first needed.

A request is a line of JSON, and so is its reply. The two are exchanged under a lock, so any thread may ask. A program that
ends, or an exchange that is interrupted, is an error; the next score or recording starts a new program.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcptest.errors import EngineError, InputError

__version__ = importlib.metadata.version("mcptest")

PROTOCOL = 1

# How long the program may take to end once nobody needs it any more.
_GRACE_SECONDS = 5.0


def _plain(value: object) -> object:
    """Turn objects of SDKs, which are Pydantic models, into what they are in JSON."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        raise TypeError(f"an object of the type {type(value).__name__} is not JSON")
    try:
        return dump(mode="json", exclude_none=True)
    except Exception as error:
        raise TypeError(f"model_dump() of {type(value).__name__} failed: {error}") from error


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)


def encode(value: object, what: str) -> str:
    """Encode a value as JSON, or say what is wrong with it."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{what} cannot be written as JSON: {error}") from error


def binary() -> str:
    """Find the program: ``MCPTEST_BINARY``, or the one that was installed with this package."""
    named = os.environ.get("MCPTEST_BINARY")
    if named:
        return named
    for file in importlib.metadata.files("mcptest") or []:
        if file.name in ("mcptest", "mcptest.exe") and file.parent.name in ("bin", "Scripts"):
            return str(Path(str(file.locate())).resolve())
    raise EngineError(
        "the program `mcptest` is not installed with this package\n"
        "hint: install the wheel again, or set MCPTEST_BINARY to the path of the program"
    )


class Program:
    """A running program. What was started in it, such as a score, ends with it."""

    def __init__(self, path: str) -> None:
        """Start the program, and check that it has the version of this package."""
        self._lock = threading.RLock()
        self._errors = tempfile.TemporaryFile()
        self._last_id = 0
        self._end: str | None = None
        try:
            self._process = subprocess.Popen(
                [path, "serve-json"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                # Ctrl-C is for the program that started it.
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise EngineError(f"cannot start {path}: {error.strerror}\nhint: install the package again") from error
        hello = self.call("hello", {})
        if hello.get("version") != __version__ or hello.get("protocol") != PROTOCOL:
            self.close()
            raise EngineError(
                f"{path} has the version {hello.get('version')}, and this package the version {__version__}\n"
                "hint: install the package again, or unset MCPTEST_BINARY"
            )

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether a request found that it has ended."""
        return self._end is not None

    def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Send a request and return its result."""
        return self.lines(method, encode(params, "this request"))[1]

    def lines(self, method: str, params: str) -> tuple[list[bytes], Any]:
        """Send a request, and return the lines that come before its reply, and its result. ``params`` are JSON."""
        with self._lock:
            if self._end is not None:
                raise EngineError(self._end)
            lines, reply = self._exchange(method, params)
        if "error" in reply:
            raise InputError(reply["error"]["message"])
        return lines, reply["result"]

    def close(self) -> None:
        """Let the program end."""
        # A thread that waits for a reply has the lock. It is not worth waiting for: Python ends.
        is_free = self._lock.acquire(timeout=_GRACE_SECONDS)
        try:
            if self._end is None:
                self._stop("the program `mcptest` was closed", _GRACE_SECONDS if is_free else 0)
        finally:
            if is_free:
                self._lock.release()

    def forget(self) -> None:
        """Leave the program to the process that this one was forked from."""
        self._lock = threading.RLock()
        if self._end is not None:
            return
        self._end = "the program `mcptest` belongs to the process that this one was forked from"
        # Its pipes are closed here, but it is not waited for.
        self._process.returncode = 0
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    os.close(pipe.fileno())

    def _exchange(self, method: str, params: str) -> tuple[list[bytes], dict[str, Any]]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._last_id += 1
        number = self._last_id
        prefix = b'{"id":%d,"line":' % number
        lines: list[bytes] = []
        try:
            stdin.write(f'{{"id":{number},"method":"{method}","params":{params}}}\n'.encode())
            stdin.flush()
            while (line := stdout.readline()).startswith(prefix) and line.endswith(b"\n"):
                lines.append(line[len(prefix) : -2])
        except OSError as error:
            raise self._died() from error
        except BaseException:
            # The reply to this request must not be taken for that of the next.
            self._stop("the program `mcptest` was stopped, because a request was interrupted", _GRACE_SECONDS)
            raise
        if not line.endswith(b"\n"):
            raise self._died()
        reply = _reply(line, number)
        if reply is None:
            self._stop("the program `mcptest` does not speak the protocol of this package", 0)
            shown = line[:200].decode(errors="replace").strip()
            raise EngineError(f"{self._end}\nit answered: {shown}")
        return lines, reply

    def _died(self) -> EngineError:
        code = self._stop("", 1)
        self._errors.seek(0)
        stderr = self._errors.read()[-4000:].decode(errors="replace").strip()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._end = f"the program `mcptest` {how}" + (f"\n{stderr}" if stderr else "")
        return EngineError(self._end)

    def _stop(self, why: str, seconds: float) -> int:
        """Close the pipes of the program, and wait for its end."""
        self._end = why
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _reply(line: bytes, number: int) -> dict[str, Any] | None:
    """Return a line if it is the reply to a request."""
    try:
        reply = json.loads(line)
    except ValueError:
        return None
    is_reply = isinstance(reply, dict) and reply.get("id") == number and ("result" in reply) != ("error" in reply)
    return reply if is_reply else None


class Engine:
    """The program of this process: none yet, or the one that was started last."""

    def __init__(self) -> None:
        """Start nothing."""
        self._lock = threading.Lock()
        self._program: Program | None = None

    def program(self) -> Program:
        """Return the program, and start it if there is none."""
        with self._lock:
            if self._program is None or self._program.has_ended:
                self._program = Program(binary())
            return self._program

    def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Send a request that no other one depends on, and return its result."""
        return self.program().call(method, params)

    def close(self) -> None:
        """Let the program end."""
        program, self._program = self._program, None
        if program is not None:
            program.close()

    def forget(self) -> None:
        """Leave the program to the process that this one was forked from."""
        self._lock = threading.Lock()
        program, self._program = self._program, None
        if program is not None:
            program.forget()


ENGINE = Engine()
atexit.register(ENGINE.close)
os.register_at_fork(after_in_child=ENGINE.forget)
