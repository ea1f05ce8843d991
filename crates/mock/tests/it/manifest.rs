//! Files with mistakes, each with its exact messages: `mistakes/` must be rejected, `warnings/` must
//! load. `MISTAKES=overwrite cargo test -p mcptest-mock manifest` updates the expected texts; read the diff.

use std::fs;
use std::path::{Path, PathBuf};

use mcptest_core::diag::Source;
use mcptest_mock::load;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
}

fn check(dir: &str, loads: bool) -> usize {
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let overwrite = std::env::var("MISTAKES").is_ok_and(|word| word == "overwrite");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder(dir)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts = paths.iter().filter(|path| path.extension().is_some_and(|ext| ext == "txt")).count();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "yml"));
    let mut wrong = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let source = Source::new(name, fs::read_to_string(path).unwrap());
        let loaded = load(&source);
        let actual: String = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
        let other = path.with_extension("txt");
        if overwrite {
            fs::write(&other, &actual).unwrap();
        }
        let expected = fs::read_to_string(&other).unwrap_or_default();
        if actual != expected || loaded.value.is_some() != loads {
            wrong.push(format!("{dir}/{name}\n--- expected\n{expected}--- actual\n{actual}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(overwrite || texts == paths.len(), "a text without a file in {dir}");
    paths.len()
}

#[test]
fn every_mistake_has_its_exact_message() {
    assert!(check("mistakes", false) >= 20);
}

#[test]
fn every_warning_has_its_exact_message() {
    assert!(check("warnings", true) >= 3);
}
