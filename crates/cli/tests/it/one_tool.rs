//! A server that offers one tool, a suite with one test on it, and a script for its model.

use super::Folder;

pub(crate) const TOOLS: &str =
    "mock_server:\n  name: desk\n  tools: [{ name: search, answer: { structured: { about: \"${args.q}\" } } }]\n";
pub(crate) const SUITE: &str = "\
servers: { desk: { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] } }
models: { demo: { provider: script, script: script.yml } }
agents:
  - name: t
    model: demo
    servers: [desk]
    prompt: Do it.
    trajectory: { calls: [{ name: search }] }
";
pub(crate) const SCRIPT: &str =
    "{ script: 1, runs: [{ turns: [{ calls: [{ tool: search, args: { q: rain } }] }, { text: done }] }] }";

pub(crate) fn world() -> Folder {
    Folder::with(&[("suite.yml", SUITE), ("tools.yml", TOOLS), ("script.yml", SCRIPT)])
}
