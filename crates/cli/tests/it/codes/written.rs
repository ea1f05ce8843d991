//! Mistakes and warnings in files that users write. Most are with the tests of the reader, one file each.

use super::{desk, printed, suite};
use crate::{Folder, root};
use mcptest_core::diag::Code;

/// The file of the reader's tests that has exactly this trouble.
const FILES: [(Code, &str); 50] = [
    (Code::NotYaml, "mistakes/yaml-tab-indent"),
    (Code::EmptyFile, "mistakes/yaml-empty"),
    (Code::YamlFeature, "mistakes/yaml-two-documents"),
    (Code::NestedTooDeep, "mistakes/yaml-deep-flow"),
    (Code::DuplicateKey, "mistakes/yaml-duplicate-key"),
    (Code::UnknownKey, "mistakes/unknown-key-test"),
    (Code::MissingKey, "mistakes/test-without-prompt"),
    (Code::WrongType, "mistakes/runs-is-quoted"),
    (Code::EmptyValue, "mistakes/test-name-is-empty"),
    (Code::DuplicateName, "mistakes/test-given-twice"),
    (Code::MalformedVariable, "mistakes/variable-unclosed"),
    (Code::SecretMadePublic, "mistakes/public-names-a-key"),
    (Code::VariableNotSet, "mistakes/variable-unset"),
    (Code::UnknownModel, "mistakes/model-unknown"),
    (Code::NoModel, "mistakes/model-missing"),
    (Code::AssertsNothing, "mistakes/test-asserts-nothing"),
    (Code::UnknownReference, "mistakes/server-unknown-in-test"),
    (Code::InvalidServer, "mistakes/server-with-both"),
    (Code::InvalidModel, "mistakes/model-script-with-base-url"),
    (Code::InvalidProgram, "mistakes/program-input-unknown"),
    (Code::InvalidFault, "mistakes/fault-slow-without-delay"),
    (Code::MalformedTarget, "mistakes/target-malformed"),
    (Code::UnknownTarget, "mistakes/target-unknown"),
    (Code::UnknownMetric, "mistakes/gate-metric-misspelt"),
    (Code::MetricIsANumber, "mistakes/gate-metric-exact-true"),
    (Code::MalformedMatcher, "mistakes/matcher-is-unknown"),
    (Code::ModelGradedMatcher, "mistakes/gate-judge"),
    (Code::MalformedRegex, "mistakes/matcher-regex-lookahead"),
    (Code::MalformedSchema, "mistakes/matcher-schema-keyword"),
    (Code::PrefixedToolName, "mistakes/call-name-with-prefix"),
    (Code::KeyWithoutEffect, "mistakes/trajectory-max-extra-strict"),
    (Code::InvalidIgnoreArgs, "mistakes/call-ignore-args-with-any"),
    (Code::SelfEdge, "mistakes/order-of-itself"),
    (Code::StabilityNeedsRuns, "mistakes/stability-with-one-run"),
    (Code::RecoveryWithoutInject, "mistakes/recovery-without-inject"),
    (Code::ReliabilityWithoutChecks, "mistakes/reliability-without-checks"),
    (Code::TooManyRuns, "mistakes/runs-are-too-many"),
    (Code::InvalidRuns, "mistakes/runs-settle-nothing"),
    (Code::NotOneWord, "mistakes/narrative-verb-is-two-words"),
    (Code::UnusedPublicVariable, "lints/public-variable-that-nothing-reads"),
    (Code::UnusedEntry, "lints/server-never-used"),
    (Code::PassesOnEmptyTrace, "lints/passes-on-the-empty-trace"),
    (Code::EmptyTrajectory, "lints/trajectory-asks-nothing"),
    (Code::WastefulGoldenPath, "lints/wasteful-golden-path"),
    (Code::ReliabilityCannotPass, "lints/reliability-runs-too-few"),
    (Code::ReliabilityAlwaysPasses, "lints/reliability-always-passes"),
    (Code::FaultWithinTimeout, "lints/fault-within-its-budget"),
    (Code::FaultOnUnusedServer, "lints/fault-on-a-server-the-test-does-not-use"),
    (Code::TemperatureRefused, "lints/temperature-on-a-model-that-refuses-it"),
    (Code::ReliesOnProse, "lints/rests-on-prose"),
];

pub(super) fn provoked() -> Vec<(Code, String)> {
    let here = Folder::with(&[]);
    let written = |(code, file): (Code, &str)| {
        let path = root().join("crates/core/tests/it").join(format!("{file}.yml"));
        (code, printed(&here, &["validate", path.to_str().unwrap()]))
    };
    FILES.into_iter().map(written).chain(files()).collect()
}

/// Files that cannot be used at all, and tests that are not found.
fn files() -> Vec<(Code, String)> {
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
    here.write("taken", b"");
    let begun = Folder::with(&[("mcptest.yml", "")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("ok.yml", here.0.join("link.yml")).unwrap();
    let print = |line: &[&str]| printed(&here, line);
    vec![
        (Code::UntrustedSuite, print(&["run", "city.yml", "--untrusted"])),
        (Code::SymbolicLink, print(&["run", "link.yml", "--untrusted"])),
        (Code::NoSuchFile, print(&["run", "nope.yml"])),
        (Code::NotUtf8, print(&["validate", "latin.yml"])),
        (Code::FileTooLarge, print(&["validate", "large.yml"])),
        (Code::EmptyFolder, print(&["validate", "empty"])),
        (Code::NotASuite, print(&["run", "demo.yml"])),
        (Code::SharedCassettes, printed(&twins, &["run", "ok.yml"])),
        (Code::NoSuiteNamed, print(&["run"])),
        (Code::NothingSelected, print(&["run", "ok.yml", "--tag", "smoke"])),
        (
            Code::EmptyPartition,
            [1, 2].map(|share| print(&["run", "ok.yml", "--list", "--partition", &format!("{share}/2")])).concat(),
        ),
        (Code::FileExists, printed(&begun, &["init"])),
        (Code::FileNotWritten, print(&["init", "taken"])),
        (Code::BadArgument, print(&["run", "ok.yml", "--partition", "4/3"])),
        (Code::UnknownProperty, print(&["validate", "rule.yml"])),
    ]
}
