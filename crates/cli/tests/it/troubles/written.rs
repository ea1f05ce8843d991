//! Mistakes and warnings of files that people write. Most lie with the tests of the reader, each in a file of its own.

use super::{desk, printed, suite};
use crate::{Folder, root};

/// The file of the reader's tests that has exactly this trouble.
const FILES: [(&str, &str); 48] = [
    ("not-yaml", "mistakes/yaml-tab-indent"),
    ("empty-file", "mistakes/yaml-empty"),
    ("yaml-feature", "mistakes/yaml-two-documents"),
    ("nests-too-deep", "mistakes/yaml-deep-flow"),
    ("key-given-twice", "mistakes/yaml-duplicate-key"),
    ("unknown-key", "mistakes/unknown-key-test"),
    ("missing-key", "mistakes/test-without-prompt"),
    ("wrong-type", "mistakes/runs-is-quoted"),
    ("empty-value", "mistakes/test-name-is-empty"),
    ("name-given-twice", "mistakes/test-given-twice"),
    ("unclosed-variable", "mistakes/variable-unclosed"),
    ("public-key", "mistakes/public-names-a-key"),
    ("variable-not-set", "mistakes/variable-unset"),
    ("unknown-model", "mistakes/model-unknown"),
    ("no-model", "mistakes/model-missing"),
    ("asserts-nothing", "mistakes/test-asserts-nothing"),
    ("unknown-reference", "mistakes/server-unknown-in-test"),
    ("server-block", "mistakes/server-with-both"),
    ("provider-key", "mistakes/model-script-with-base-url"),
    ("fault-block", "mistakes/fault-slow-without-delay"),
    ("malformed-target", "mistakes/target-malformed"),
    ("unknown-target", "mistakes/target-unknown"),
    ("unknown-metric", "mistakes/gate-metric-misspelt"),
    ("metric-is-a-number", "mistakes/gate-metric-exact-true"),
    ("unknown-matcher", "mistakes/matcher-is-unknown"),
    ("model-graded-matcher", "mistakes/gate-judge"),
    ("malformed-regex", "mistakes/matcher-regex-lookahead"),
    ("malformed-schema", "mistakes/matcher-schema-keyword"),
    ("tool-with-prefix", "mistakes/call-name-with-prefix"),
    ("max-extra-mode", "mistakes/trajectory-max-extra-strict"),
    ("ignore-args", "mistakes/call-ignore-args-with-any"),
    ("edge-to-itself", "mistakes/order-of-itself"),
    ("stability-of-one-run", "mistakes/stability-with-one-run"),
    ("recovery-without-inject", "mistakes/recovery-without-inject"),
    ("reliability-of-nothing", "mistakes/reliability-without-checks"),
    ("too-many-runs", "mistakes/runs-are-too-many"),
    ("not-one-word", "mistakes/narrative-verb-is-two-words"),
    ("public-unread", "lints/public-variable-that-nothing-reads"),
    ("never-used", "lints/server-never-used"),
    ("passes-on-nothing", "lints/passes-on-the-empty-trace"),
    ("asks-nothing", "lints/trajectory-asks-nothing"),
    ("wasteful-golden-path", "lints/wasteful-golden-path"),
    ("reliability-cannot-pass", "lints/reliability-runs-too-few"),
    ("reliability-always-passes", "lints/reliability-always-passes"),
    ("late-not-missed", "lints/fault-within-its-budget"),
    ("fault-elsewhere", "lints/fault-on-a-server-the-test-does-not-use"),
    ("temperature-refused", "lints/temperature-on-a-model-that-refuses-it"),
    ("rests-on-prose", "lints/rests-on-prose"),
];

pub(super) fn provoked() -> Vec<(&'static str, String)> {
    let here = Folder::with(&[]);
    let written = |(name, file): (&'static str, &str)| {
        let path = root().join("crates/core/tests/it").join(format!("{file}.yml"));
        (name, printed(&here, &["validate", path.to_str().unwrap()]))
    };
    FILES.into_iter().map(written).chain(files()).collect()
}

/// Files that cannot be used at all, and tests that are not found.
fn files() -> Vec<(&'static str, String)> {
    let good = suite("trajectory: { calls: [{ name: search }] }");
    let here = desk(&good);
    here.write("latin.yml", b"agents: \xe9");
    here.write("large.yml", &vec![b'#'; 16 * 1024 * 1024 + 1]);
    std::fs::create_dir(here.0.join("empty")).unwrap();
    let tools = "mock_server:\n  name: w\n  tools:\n    - name: get\n      input_schema: { type: object, properties: { city: {} } }\n      rules: [{ when: { citty: { exact: Oslo } }, answer: hi }]\n";
    here.write("rule.yml", tools.as_bytes());
    let twins = desk(&good);
    twins.write("ok.yaml", good.as_bytes());
    here.write("city.yml", good.replace("search", "\"${CITY}\"").as_bytes());
    #[cfg(unix)]
    std::os::unix::fs::symlink("ok.yml", here.0.join("link.yml")).unwrap();
    let print = |line: &[&str]| printed(&here, line);
    vec![
        ("needs-trust", print(&["run", "city.yml", "--untrusted"])),
        ("symbolic-link", print(&["run", "link.yml", "--untrusted"])),
        ("no-such-file", print(&["run", "nope.yml"])),
        ("not-utf8", print(&["validate", "latin.yml"])),
        ("file-too-large", print(&["validate", "large.yml"])),
        ("empty-folder", print(&["validate", "empty"])),
        ("not-a-suite", print(&["run", "demo.yml"])),
        ("shared-cassettes", printed(&twins, &["run", "ok.yml"])),
        ("no-suite-named", print(&["run"])),
        ("nothing-selected", print(&["run", "ok.yml", "--tag", "smoke"])),
        (
            "empty-share",
            [1, 2].map(|share| print(&["run", "ok.yml", "--list", "--partition", &format!("{share}/2")])).concat(),
        ),
        ("bad-option", print(&["run", "ok.yml", "--partition", "4/3"])),
        ("schema-property", print(&["validate", "rule.yml"])),
    ]
}
