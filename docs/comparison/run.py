"""Runs every case through every tool and prints the tables of docs/comparison.md: verdicts, versions, sizes, costs.

    python3 docs/comparison/run.py --install DIR    # once; needs PyPI, npm and a Node that promptfoo accepts
    python3 docs/comparison/run.py --peers DIR --mcptest target/release/mcptest

Not part of CI, because installing needs a network. The run itself needs none: where the system allows it (`unshare`),
the adapters run without a network. No model is called and no key is set.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases.json"
MEASURED = "order-kept"  # a trajectory of two calls that every tool with a matcher passes

# Name, folder and adapter, and what to install. Two do not import with the newest versions of their dependencies, so
# older ones are pinned: Ragas 0.4.3 (https://github.com/vibrantlabsai/ragas/issues/2745), and mcp-eval 0.1.10, which needs
# the first major version of the SDK.
PYTHON_PEERS = [
    ("agentevals", "agentevals", ["agentevals"]),
    ("DeepEval", "deepeval", ["deepeval"]),
    ("Ragas", "ragas", ["ragas", "langchain-community<0.4"]),
    ("Inspect", "inspect", ["inspect-ai"]),
    ("mcp-eval", "mcp_eval", ["mcpevals", "mcp<2"]),
    ("Google ADK", "adk", ["google-adk"]),
]
COLUMNS = ["mcptest", "agentevals", "DeepEval", "Ragas", "promptfoo", "Inspect", "mcp-eval", "Google ADK"]
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "RAGAS_DO_NOT_TRACK": "true",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}


def install(folder, node):
    folder.mkdir(parents=True, exist_ok=True)
    # Registries have other packages with this project's name. They must not be installed by accident.
    constraints = folder / "constraints.txt"
    constraints.write_text("mcptest<0\n", encoding="utf-8")
    for _, name, packages in PYTHON_PEERS:
        home = folder / name
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip = [home / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-U", "pip"], check=True)
        subprocess.run([*pip, "-c", constraints, *packages], check=True)
    home = folder / "promptfoo"
    home.mkdir(exist_ok=True)
    (home / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    # npm picks the newest version that the Node it runs on can run.
    path = f"{pathlib.Path(shutil.which(node)).parent}{os.pathsep}{os.environ['PATH']}"
    npm = [shutil.which("npm", path=path), "install", "--no-audit", "--no-fund"]
    subprocess.run([*npm, "--package-lock-only", "promptfoo"], cwd=home, env={**os.environ, "PATH": path}, check=True)
    if "node_modules/mcptest" in (home / "package-lock.json").read_text(encoding="utf-8"):
        sys.exit("promptfoo would bring in a package named mcptest")
    subprocess.run(npm, cwd=home, env={**os.environ, "PATH": path}, check=True)


def commands(peers, node):
    """The command of each adapter, without the flags for one case."""
    started = {"mcptest": [sys.executable, HERE / "mcptest_adapter.py", CASES]}
    for title, name, _ in PYTHON_PEERS:
        started[title] = [peers / name / "bin" / "python", HERE / f"{name}_adapter.py", CASES]
    started["promptfoo"] = [node, HERE / "promptfoo_adapter.mjs", CASES, peers / "promptfoo"]
    return started


def without_network():
    prefix = ["unshare", "--map-root-user", "--net"]
    able = (
        shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    )
    return prefix if able else []


def measure(command, env):
    """CPU time and peak memory of one process, best of three.

    Wall-clock time would include other work on the machine, most of all for tools that read many files.
    """
    best = None
    for _ in range(3):
        child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{command} ended with {child.returncode}")
        taken = (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        best = taken if best is None else tuple(map(min, best, taken))
    return best


def size(folder):
    """Installed bytes, without interpreter caches and without the installer itself."""
    total = folder.stat().st_size if folder.is_file() else 0
    for root, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__" and f.split("-")[0] not in ("pip", "setuptools")]
        total += sum(os.lstat(os.path.join(root, file)).st_size for file in files)
    return total


def cell(case, reply):
    verdict = reply["verdict"]
    if verdict is None:
        return "-"
    if verdict == "model":
        return "model"
    return str(verdict) if verdict in case["right"] else f"✗ {verdict}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", type=pathlib.Path, metavar="DIR", help="install the other tools here, then stop")
    parser.add_argument("--peers", type=pathlib.Path, metavar="DIR", help="where they were installed")
    parser.add_argument("--mcptest", type=pathlib.Path, default="target/release/mcptest", help="the program to compare")
    parser.add_argument("--node", default="node", help="the Node that runs promptfoo")
    options = parser.parse_args()
    if options.install:
        return install(options.install.resolve(), options.node)
    if not options.peers:
        parser.error("--peers or --install is needed")

    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    peers, program = options.peers.resolve(), options.mcptest.resolve()
    started = commands(peers, shutil.which(options.node))
    with tempfile.TemporaryDirectory() as scratch:
        # A separate home and no keys, so a tool finds only what it brought. Compiled files are kept apart as well.
        env = {
            "PATH": os.environ["PATH"],
            "HOME": scratch,
            "MCPTEST": str(program),
            "PYTHONPYCACHEPREFIX": f"{scratch}/pyc",
            **QUIET,
        }
        offline = without_network()
        replies = {}
        for title in COLUMNS:
            done = subprocess.run(
                [*offline, *started[title]],
                env=env,
                cwd=scratch,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            if done.returncode != 0:
                sys.exit(f"{title} ended with {done.returncode}:\n{done.stderr}")
            replies[title] = json.loads(done.stdout.strip().splitlines()[-1])

        print(f"Network during the run: {'none' if offline else 'available'}.\n")
        rows = [
            [
                f"`{c['id']}`",
                " or ".join(map(str, c["right"])),
                *(cell(c, replies[t]["verdicts"][c["id"]]) for t in COLUMNS),
            ]
            for c in cases
        ]
        rows.append(["correct, of the cases it supports", "", *(tally(cases, replies[t]["verdicts"]) for t in COLUMNS)])
        print(table(["case", "correct", *COLUMNS], rows))
        print()
        print(
            table(
                ["tool", "version", "installed", "CPU time", "peak memory"],
                costs(started, replies, peers, program, env, scratch),
            )
        )


def tally(cases, verdicts):
    asked = [c for c in cases if verdicts[c["id"]]["verdict"] not in (None, "model")]
    right = sum(verdicts[c["id"]]["verdict"] in c["right"] for c in asked)
    return f"{right} of {len(asked)}"


def costs(started, replies, peers, program, env, scratch):
    """One process for one trajectory. Ours is the program itself; the bare interpreters are the baseline of the others."""
    case = next(c for c in json.loads(CASES.read_text(encoding="utf-8"))["cases"] if c["id"] == MEASURED)
    gates, trace = pathlib.Path(scratch, "gates.yml"), pathlib.Path(scratch, "trace.json")
    calls = [{"name": call["name"], "args": {"exact": call["args"]}} for call in case["expected"]]
    gates.write_text(json.dumps({"trajectory": {"mode": case["mode"], "calls": calls}}), encoding="utf-8")
    trace.write_text(json.dumps({"tool_calls": case["recorded"]}), encoding="utf-8")
    measured = {title: [*started[title], "--only", MEASURED] for title in COLUMNS}
    measured["mcptest"] = [program, "score", trace, "--gates", gates]
    installed = {title: peers / name / "lib" for title, name, _ in PYTHON_PEERS}
    installed |= {"mcptest": program, "promptfoo": peers / "promptfoo" / "node_modules"}
    rows = []
    for title in COLUMNS:
        amount = f"{size(installed[title]) / 1e6:.0f} MB"
        rows.append([title, replies[title]["version"], amount, *figures(measure(measured[title], env))])
    for title, command in (
        ("Python alone", [started["agentevals"][0], "-c", ""]),
        ("Node alone", [started["promptfoo"][0], "-e", ""]),
    ):
        rows.append([title, "", "", *figures(measure(command, env))])
    return rows


def figures(taken):
    processor, memory = taken
    return f"{processor:.3f} s", f"{memory:.0f} MB"


if __name__ == "__main__":
    main()
