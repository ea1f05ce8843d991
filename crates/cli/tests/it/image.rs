//! The Dockerfile against the repository: it copies existing files, its context has no others, and it builds with the required Rust.
//!
//! No image is built here. The tests check what breaks when the repository changes.

use std::collections::BTreeSet;

use super::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The words after an instruction, for each occurrence in the file; continued lines are joined.
fn instructions(text: &str, name: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    lines.map(|line| line.split_whitespace().map(ToOwned::to_owned).collect()).collect()
}

/// What is copied out of the repository: everything but the last word of each `COPY` that names no stage.
fn copied(text: &str) -> BTreeSet<String> {
    let copies = instructions(text, "COPY").into_iter().filter(|words| !words[0].starts_with("--from="));
    copies.flat_map(|words| words[..words.len() - 1].to_vec()).collect()
}

/// The value of a key on its own line in the workspace manifest.
fn manifest(key: &str) -> String {
    let text = read("Cargo.toml");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
    lines.next().unwrap().to_owned()
}

#[test]
fn the_image_copies_existing_files_and_the_context_has_no_others() {
    let copied = copied(&read("Dockerfile"));
    for path in &copied {
        assert!(root().join(path).exists(), "{path}");
    }
    let ignored = read(".dockerignore");
    let mut rules = ignored.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(rules.next(), Some("*"));
    let sent: BTreeSet<String> = rules.map(|rule| rule.strip_prefix('!').unwrap().to_owned()).collect();
    assert_eq!(sent, copied);
}

#[test]
fn every_package_of_the_workspace_is_in_the_image() {
    let members: Vec<String> = serde_json::from_str(&manifest("members")).unwrap();
    let copied = copied(&read("Dockerfile"));
    for member in &members {
        let top = member.split('/').next().unwrap();
        assert!(
            copied.contains(top),
            "{member}: cargo reads the manifest of every member, also of those it does not build"
        );
    }
    assert!(members.len() >= 5, "{members:?}");
}

#[test]
fn the_image_is_built_with_the_required_rust_and_runs_on_the_same_system() {
    let stages = instructions(&read("Dockerfile"), "FROM");
    let version: String = serde_json::from_str(&manifest("rust-version")).unwrap();
    let (rust, debian) = (&stages[0][0], &stages[1][0]);
    let release = rust.strip_prefix(&format!("rust:{version}-slim-")).unwrap_or_else(|| panic!("{rust}"));
    assert_eq!((stages.len(), &**debian), (2, &*format!("debian:{release}-slim")));
}

#[test]
fn the_image_runs_as_an_unprivileged_user() {
    let text = read("Dockerfile");
    let last = text.rfind("\nFROM ").unwrap();
    let users = instructions(&text[last..], "USER");
    assert_eq!(users.len(), 1);
    let (user, group) = users[0][0].split_once(':').unwrap();
    assert!(user.parse::<u32>().unwrap() > 0 && group.parse::<u32>().unwrap() > 0, "{users:?}");
    assert!(text.find("\nUSER ").unwrap() < text.find("\nENTRYPOINT [\"mcptest\"]\n").unwrap());
}
