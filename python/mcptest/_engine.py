"""The program behind the package: one ``mcptest serve-json`` per process, started when it is first needed.

A request is a line of JSON, and so is its reply. The two are exchanged under a lock, so any thread may ask. A program that
ends, or an exchange that is interrupted, is an error; the next request starts a new program.
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
from pathlib import Path
from typing import IO, Any

from mcptest.errors import EngineError, InputError

__version__ = importlib.metadata.version("mcptest")

PROTOCOL = 1

# How long the program may take to end once nobody needs it any more.
_GRACE_SECONDS = 5.0


def _plain(value: object) -> object:
    """Turn objects of SDKs, which are Pydantic models, into what they are in JSON."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_none=True)
    raise TypeError(f"an object of the type {type(value).__name__} is not JSON")


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


class Engine:
    """A running program, or none yet."""

    def __init__(self) -> None:
        """Start nothing."""
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._last_id = 0
        self.sent = 1
        """The size of the latest request."""

    def call(self, method: str, params: dict[str, object], what: str = "this request") -> Any:
        """Send a request and return its result."""
        return self.lines(method, params, what)[1]

    def lines(self, method: str, params: dict[str, object], what: str = "this request") -> tuple[list[bytes], Any]:
        """Send a request and return the lines that come before its reply, and its result."""
        with self._lock:
            if self._process is None:
                self._start()
            return self._exchange(method, params, what)

    def close(self) -> None:
        """Let the program end."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                _end(process, _GRACE_SECONDS)
            if self._errors is not None:
                self._errors.close()
                self._errors = None

    def forget(self) -> None:
        """Leave the program to the process that this one was forked from."""
        process, self._process = self._process, None
        if process is not None:
            # Its pipes are closed here, but it is not waited for.
            process.returncode = 0
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        os.close(pipe.fileno())
        self._lock = threading.RLock()
        self._errors = None

    def _start(self) -> None:
        path = binary()
        self._errors = tempfile.TemporaryFile()
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
            raise EngineError(f"cannot start {path}: {error.strerror}\nhint: install the package again") from error
        hello = self._exchange("hello", {}, "this request")
        version = hello[1].get("version")
        if version != __version__ or hello[1].get("protocol") != PROTOCOL:
            self.close()
            raise EngineError(
                f"{path} has the version {version}, and this package the version {__version__}\n"
                "hint: install the package again, or unset MCPTEST_BINARY"
            )

    def _exchange(self, method: str, params: dict[str, object], what: str) -> tuple[list[bytes], Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._last_id += 1
        number = self._last_id
        text = encode({"id": number, "method": method, "params": params}, what)
        prefix = b'{"id":%d,"line":' % number
        lines: list[bytes] = []
        self.sent = len(text)
        try:
            process.stdin.write(text.encode())
            process.stdin.write(b"\n")
            process.stdin.flush()
            while True:
                line = process.stdout.readline()
                if not line.endswith(b"\n"):
                    raise self._died()
                if not line.startswith(prefix):
                    break
                lines.append(line[len(prefix) : -2])
        except OSError as error:
            raise self._died() from error
        except BaseException:
            # The reply to this request must not be taken for that of the next.
            self._abandon()
            raise
        reply = json.loads(line)
        if reply.get("id") != number:
            self._abandon()
            raise EngineError("the program `mcptest` answered another request")
        if "error" in reply:
            raise InputError(reply["error"]["message"])
        return lines, reply["result"]

    def _abandon(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            _end(process, _GRACE_SECONDS)

    def _died(self) -> EngineError:
        process, self._process = self._process, None
        if process is None:
            return EngineError("the program `mcptest` has ended")
        code = _end(process, 1.0)
        stderr = ""
        if self._errors is not None:
            self._errors.seek(0)
            stderr = self._errors.read()[-4000:].decode(errors="replace").strip()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return EngineError(f"the program `mcptest` {how}" + (f"\n{stderr}" if stderr else ""))


def _end(process: subprocess.Popen[bytes], seconds: float) -> int:
    """Close the pipes of the program, and wait for its end."""
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


ENGINE = Engine()
atexit.register(ENGINE.close)
os.register_at_fork(after_in_child=ENGINE.forget)
