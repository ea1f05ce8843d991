//! The fuzz targets: how long their inputs are, what they start from, and where a finding goes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) name: &'static str,
    /// Longest input, in bytes.
    pub(super) max_len: usize,
    seeds: &'static [Seeds],
    /// The folder, or the file with a list, whose tests repeat what was found.
    pub(super) keep: &'static str,
}

/// Inputs to start from.
#[derive(Debug, PartialEq, Eq)]
enum Seeds {
    /// Every file below a folder, after these bytes.
    Files(&'static str, &'static [u8]),
    /// The traces in every list of traces below a folder.
    Traces(&'static str),
    /// The messages and calls of every case in the files below a folder.
    Messages(&'static str),
    Texts(&'static [&'static str]),
}

const FORMATS: &str = "crates/core/tests/it/import";

/// An input of `import` begins with the number of a format. The number after the last one means: detect the format.
const DETECT: &[u8] = b"\x18\0";

/// Every target of `fuzz/Cargo.toml`.
pub(super) const TARGETS: [Target; 7] = [
    Target {
        name: "cassette",
        max_len: 65_536,
        seeds: &[
            Seeds::Files("crates/core/tests/it/import/cassette", b"\0"),
            Seeds::Files("crates/cli/src/report/samples", b"\x01"),
            Seeds::Files("crates/runner/tests/it/fuzzed/found/cassette", b""),
        ],
        keep: "crates/runner/tests/it/fuzzed/found/cassette",
    },
    Target {
        name: "envelope",
        max_len: 16_384,
        seeds: &[Seeds::Traces(FORMATS), Seeds::Files("crates/core/tests/it/fuzzed/found/envelope", b"")],
        keep: "crates/core/tests/it/fuzzed/found/envelope",
    },
    Target {
        name: "framing",
        max_len: 4_096,
        seeds: &[Seeds::Texts(&[
            "\u{10}\u{3}\0\u{5}\u{1}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"id\":2}\r\n\n last",
            "\u{7f}\0data: one\n\ndata:two\r\n\r\nevent: ping\rdata: x\r\rid: 7\nevent: message\ndata: a\ndata: b\n\n",
            "\u{2}\u{1}\0\u{feff}data\n\n: note\nretry: 5\ndata:  three\n\n",
        ])],
        keep: "crates/runner/src/mcp/invariants.rs",
    },
    Target {
        name: "import",
        max_len: 65_536,
        seeds: &[Seeds::Files(FORMATS, DETECT), Seeds::Files("crates/core/tests/it/import/found", b"")],
        keep: "crates/core/tests/it/import/found",
    },
    Target {
        name: "narrative",
        max_len: 65_536,
        seeds: &[
            Seeds::Messages("crates/core/tests/it/narrative"),
            Seeds::Texts(&[
                "I deleted `a.tmp`.\n---\n$ for f in $(ls); do rm \"$f\" >/dev/null 2>&1; done <<'EOF'\trm x\tEOF\tsed -i s/a/b/ c",
                "I dropped the table t.\n---\nsql with x as (select $$;drop$$) delete from t -- '\tsql /* */ select 'a''b'; drop table \"t\"",
                "I renamed a to b.\n---\npatch *** Begin Patch\t*** Update File: a\t*** Move to: b\t@@\t-x\t+y\t*** End Patch",
            ]),
            Seeds::Files("crates/core/tests/it/fuzzed/found/narrative", b""),
        ],
        keep: "crates/core/tests/it/fuzzed/found/narrative",
    },
    Target {
        name: "suite",
        max_len: 4_096,
        seeds: &[
            Seeds::Files("crates/core/tests/it/good", b""),
            Seeds::Files("crates/core/tests/it/lints", b""),
            Seeds::Files("crates/core/tests/it/mistakes", b""),
        ],
        keep: "crates/core/tests/it/mistakes",
    },
    Target {
        name: "target",
        max_len: 4_096,
        seeds: &[
            Seeds::Texts(&[
                "tool_calls[0].args.city\n{\"tool_calls\":[{\"args\":{\"city\":\"Oslo\"}}]}",
                "a[*].b[-1][\"odd key\"]\n{\"a\":[{\"b\":[{\"odd key\":1}]},{\"b\":[]},null]}",
            ]),
            Seeds::Files("crates/core/tests/it/fuzzed/found/target", b""),
        ],
        keep: "crates/core/tests/it/fuzzed/found/target",
    },
];

impl Target {
    /// The inputs to start from. A source without any is an error: a folder was renamed.
    pub(super) fn seeds(&self, root: &Path) -> Result<Vec<Vec<u8>>, Failure> {
        let mut all = Vec::new();
        for seeds in self.seeds {
            let found = seeds.read(root)?;
            if found.is_empty() {
                return Err(Failure::broken(format!("{}: {seeds:?} has nothing to start from", self.name)));
            }
            all.extend(found);
        }
        Ok(all)
    }
}

impl Seeds {
    fn read(&self, root: &Path) -> Result<Vec<Vec<u8>>, Failure> {
        let mut found = Vec::new();
        let folder = match self {
            Self::Texts(texts) => return Ok(texts.iter().map(|text| text.as_bytes().to_vec()).collect()),
            Self::Files(folder, _) | Self::Traces(folder) | Self::Messages(folder) => folder,
        };
        for path in files(&root.join(folder))? {
            let bytes = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
            match self {
                Self::Traces(_) => {
                    // Other files lie between the lists.
                    let Ok(list) = serde_json::from_slice::<Vec<Value>>(&bytes) else { continue };
                    let traces = list.iter().filter_map(|one| one.get("trace"));
                    found.extend(traces.map(|trace| trace.to_string().into_bytes()));
                }
                Self::Messages(_) => {
                    found.extend(String::from_utf8_lossy(&bytes).split("\n== ").filter_map(message));
                }
                Self::Files(_, prefix) => found.push([*prefix, &bytes].concat()),
                Self::Texts(_) => {}
            }
        }
        Ok(found)
    }
}

/// A case of the tests of closing messages as an input.
fn message(case: &str) -> Option<Vec<u8>> {
    let after = |key: &str| case.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let calls = after("calls:").unwrap_or("").replace(" ; ", "\n");
    Some(format!("{}\n---\n{calls}", after("text:")?).into_bytes())
}

/// Files below a folder except sources, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| Failure::io("read", folder, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| Failure::io("read", folder, &error))?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_none_or(|extension| extension != "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_the_manifest_has_matching_seeds_and_a_folder_for_findings() {
        let root = crate::root().unwrap();
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let bins = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let mut bins: Vec<String> = bins.collect();
        bins.sort();
        assert_eq!(bins, TARGETS.map(|target| target.name));
        for target in &TARGETS {
            let seeds = target.seeds(root).unwrap();
            let fitting = seeds.iter().filter(|seed| !seed.is_empty() && seed.len() <= target.max_len).count();
            assert!(fitting > 0 && fitting * 10 >= seeds.len() * 9, "{}: {fitting} of {}", target.name, seeds.len());
            assert!(root.join(target.keep).exists(), "{}", target.keep);
        }
        assert_eq!(usize::from(DETECT[0]), mcptest_core::import::Format::ALL.len());
    }
}
