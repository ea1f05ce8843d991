//! Any text, read as a suite and as a gates file: reading ends, and every diagnostic points into the text.
//!
//! `cargo +nightly fuzz run suite -- -max_len=4096`; start from `crates/core/tests/it/{good,lints,mistakes}`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcptest_core::diag::{Diagnostic, Source};
use mcptest_core::suite::{self, Variables};

fuzz_target!(|text: &str| {
    let source = Source::new("any.yml", text);
    let outside = |name: &str| (name == "CITY").then(|| "Oslo".to_owned());
    let variables = Variables { suite_dir: ".", outside: &outside };
    let loaded = suite::load(&source, &variables);
    assert!(loaded.value.is_some() || !loaded.diagnostics.is_empty());
    shown(&source, &loaded.diagnostics);
    shown(&source, &suite::load_gates(&source, &variables).diagnostics);
});

fn shown(source: &Source, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        assert!(source.text().get(diagnostic.place.clone()).is_some(), "{diagnostic:?}");
        assert!(diagnostic.render(source).contains('^'));
    }
}
