//! Lint settings: every package takes the lints of the workspace, and core's list of bans is complete.

use super::Finding;
use super::graph::Graph;
use crate::tree::Tree;

const CORE_CLIPPY: &str = "crates/core/clippy.toml";

/// What core's clippy file must ban: files, environment, network, processes, clocks, threads, unordered maps.
const REQUIRED_BANS: [&str; 22] = [
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::env::args",
    "std::env::current_dir",
    "std::env::var",
    "std::env::vars",
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::process::Command",
    "std::process::exit",
    "std::thread::scope",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
];

/// Every package takes the lints of the workspace.
pub(super) fn lints(tree: &Tree, graph: &Graph) -> Vec<Finding> {
    let without = graph.members.iter().filter(|member| !tree.get(&member.manifest).is_some_and(takes_lints));
    without.map(|member| Finding::in_file(&member.manifest, "lacks `workspace = true` under `[lints]`")).collect()
}

/// Whether a manifest has `[lints]` with `workspace = true` in it.
fn takes_lints(manifest: &str) -> bool {
    let lines = manifest.lines().map(str::trim);
    let mut section = lines.skip_while(|line| *line != "[lints]").skip(1).take_while(|line| !line.starts_with('['));
    section.any(|line| line.replace(' ', "") == "workspace=true")
}

/// Core's clippy file, which replaces the one of the root, bans every family of impure calls.
pub(super) fn clippy_bans(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(CORE_CLIPPY) else {
        return vec![Finding::in_file(CORE_CLIPPY, "does not exist, so nothing keeps core pure")];
    };
    let is_banned = |path: &&str| {
        let entry = format!("path = \"{path}\"");
        text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(&entry))
    };
    let missing = REQUIRED_BANS.iter().filter(|path| !is_banned(path));
    missing.map(|path| Finding::in_file(CORE_CLIPPY, format!("must ban `{path}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    #[test]
    fn a_manifest_takes_the_lints_only_under_their_heading() {
        for (manifest, expected) in [
            ("[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n", true),
            ("[lints]\n# the house lints\nworkspace=true", true),
            ("[package]\nname = \"a\"\n", false),
            ("[lints]\n\n[dependencies]\nworkspace = true\n", false),
            ("[package]\nworkspace = true\n", false),
            ("[lints]\nworkspace = false\n", false),
            ("[lints.rust]\nworkspace = true\n", false),
        ] {
            assert_eq!(takes_lints(manifest), expected, "{manifest}");
        }
    }

    #[test]
    fn a_package_without_the_lints_is_found() {
        let metadata = serde_json::json!({
            "workspace_root": "/w",
            "workspace_members": ["a", "b"],
            "packages": [
                { "id": "a", "name": "a", "manifest_path": "/w/a/Cargo.toml", "dependencies": [] },
                { "id": "b", "name": "b", "manifest_path": "/w/b/Cargo.toml", "dependencies": [] },
            ],
            "resolve": { "nodes": [] },
        });
        let graph = Graph::parse(&metadata.to_string()).unwrap();
        let tree = Tree::from([("a/Cargo.toml", "[lints]\nworkspace = true\n"), ("b/Cargo.toml", "[package]\n")]);
        assert_eq!(lines(&lints(&tree, &graph)), ["b/Cargo.toml: lacks `workspace = true` under `[lints]`"]);
    }

    #[test]
    fn each_missing_ban_is_found_also_when_it_is_only_commented_out() {
        let entry = |path: &str| format!("  {{ path = \"{path}\" }},\n");
        let full = REQUIRED_BANS.map(entry).concat();
        assert_eq!(clippy_bans(&Tree::from([(CORE_CLIPPY, &*full)])), []);
        for path in REQUIRED_BANS {
            let entry = entry(path);
            for without in [full.replace(&entry, ""), full.replace(&entry, &format!("# {entry}"))] {
                let found = clippy_bans(&Tree::from([(CORE_CLIPPY, &*without)]));
                assert_eq!(lines(&found), [format!("{CORE_CLIPPY}: must ban `{path}`")]);
            }
        }
        assert_eq!(clippy_bans(&Tree::default()).len(), 1);
    }
}
