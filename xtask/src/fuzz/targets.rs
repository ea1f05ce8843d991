//! The fuzz targets: how long their inputs are, what they start from, and what becomes of a finding.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;

/// One target of `fuzz/`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) name: &'static str,
    /// Longest input, in bytes.
    pub(super) max_len: usize,
    seeds: &'static [Seeds],
    /// Where an input goes that is to be held from then on.
    keep: Keep,
}

/// Inputs to start from.
#[derive(Debug, PartialEq, Eq)]
enum Seeds {
    /// Every file of a folder, after these bytes.
    Files(&'static str, &'static [u8]),
    /// The traces of every list of traces below a folder.
    Traces(&'static str),
    /// The messages and calls of every case in the files of a folder.
    Stories(&'static str),
    Texts(&'static [&'static str]),
}

/// What holds a finding.
#[derive(Debug, PartialEq, Eq)]
enum Keep {
    /// A test that reads every file of this folder, and how it is called.
    Folder(&'static str, &'static str),
    /// A test with a list of texts in this file, and how it is called.
    List(&'static str, &'static str),
}

const FORMATS: &str = "crates/core/tests/it/import";

/// How an input of `import` begins that is read as the format it looks like: with the number behind the last format.
const AS_IT_LOOKS: &[u8] = b"\x0b\0";

/// Every target, as `fuzz/Cargo.toml` has them.
pub(super) const TARGETS: [Target; 7] = [
    Target {
        name: "cassette",
        max_len: 65_536,
        seeds: &[
            Seeds::Files("crates/core/tests/it/import/cassette", b"\0"),
            Seeds::Files("crates/cli/src/report/samples", b"\x01"),
            Seeds::Files("crates/runner/tests/it/fuzzed/found/cassette", b""),
        ],
        keep: Keep::Folder(
            "crates/runner/tests/it/fuzzed/found/cassette",
            "cargo test -p mcptest-runner --test it fuzzed",
        ),
    },
    Target {
        name: "envelope",
        max_len: 16_384,
        seeds: &[Seeds::Traces(FORMATS), Seeds::Files("crates/core/tests/it/fuzzed/found/envelope", b"")],
        keep: Keep::Folder("crates/core/tests/it/fuzzed/found/envelope", "cargo test -p mcptest-core --test it fuzzed"),
    },
    Target {
        name: "framing",
        max_len: 4_096,
        seeds: &[Seeds::Texts(&[
            "\u{10}\u{3}\0\u{5}\u{1}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"id\":2}\r\n\n last",
            "\u{7f}\0data: one\n\ndata:two\r\n\r\nevent: ping\rdata: x\r\rid: 7\nevent: message\ndata: a\ndata: b\n\n",
            "\u{2}\u{1}\0\u{feff}data\n\n: note\nretry: 5\ndata:  three\n\n",
        ])],
        keep: Keep::List("crates/runner/src/mcp/hold.rs", "cargo test -p mcptest-runner --lib hold"),
    },
    Target {
        name: "import",
        max_len: 65_536,
        seeds: &[Seeds::Files(FORMATS, AS_IT_LOOKS), Seeds::Files("crates/core/tests/it/import/found", b"")],
        keep: Keep::Folder("crates/core/tests/it/import/found", "cargo test -p mcptest-core --test it import::corpus"),
    },
    Target {
        name: "narrative",
        max_len: 65_536,
        seeds: &[
            Seeds::Stories("crates/core/tests/it/narrative"),
            Seeds::Texts(&[
                "I deleted `a.tmp`.\n---\n$ for f in $(ls); do rm \"$f\" >/dev/null 2>&1; done <<'EOF'\trm x\tEOF\tsed -i s/a/b/ c",
                "I dropped the table t.\n---\nsql with x as (select $$;drop$$) delete from t -- '\tsql /* */ select 'a''b'; drop table \"t\"",
                "I renamed a to b.\n---\npatch *** Begin Patch\t*** Update File: a\t*** Move to: b\t@@\t-x\t+y\t*** End Patch",
            ]),
            Seeds::Files("crates/core/tests/it/fuzzed/found/narrative", b""),
        ],
        keep: Keep::Folder(
            "crates/core/tests/it/fuzzed/found/narrative",
            "cargo test -p mcptest-core --test it fuzzed",
        ),
    },
    Target {
        name: "suite",
        max_len: 4_096,
        seeds: &[
            Seeds::Files("crates/core/tests/it/good", b""),
            Seeds::Files("crates/core/tests/it/lints", b""),
            Seeds::Files("crates/core/tests/it/mistakes", b""),
        ],
        keep: Keep::Folder("crates/core/tests/it/mistakes", "cargo test -p mcptest-core --test it suite"),
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
        keep: Keep::Folder("crates/core/tests/it/fuzzed/found/target", "cargo test -p mcptest-core --test it fuzzed"),
    },
];

impl Target {
    /// The inputs to start from. None at all is an error: a folder was renamed.
    pub(super) fn seeds(&self, root: &Path) -> Result<Vec<Vec<u8>>, Failure> {
        let mut out = Vec::new();
        for seeds in self.seeds {
            let before = out.len();
            match seeds {
                Seeds::Files(folder, prefix) => {
                    for path in files(&root.join(folder))? {
                        let bytes = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
                        out.push([*prefix, &bytes].concat());
                    }
                }
                Seeds::Traces(folder) => {
                    for path in files(&root.join(folder))? {
                        let bytes = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
                        let list: Vec<Value> = serde_json::from_slice(&bytes).unwrap_or_else(|_| Vec::new());
                        let traces = list.iter().filter_map(|one| one.get("trace"));
                        out.extend(traces.map(|trace| trace.to_string().into_bytes()));
                    }
                }
                Seeds::Stories(folder) => {
                    for path in files(&root.join(folder))? {
                        let text = fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
                        out.extend(text.split("\n== ").filter_map(story));
                    }
                }
                Seeds::Texts(texts) => out.extend(texts.iter().map(|text| text.as_bytes().to_vec())),
            }
            if out.len() == before {
                return Err(Failure::broken(format!("{}: there is nothing to start from in {seeds:?}", self.name)));
            }
        }
        Ok(out)
    }

    /// What to do with an input that breaks something.
    pub(super) fn advice(&self, input: &Path) -> String {
        let shown = input.display();
        let (into, test) = match &self.keep {
            Keep::Folder(folder, test) => (format!("copy it into {folder}, with a name that says what it is"), test),
            Keep::List(file, test) => (format!("add it to the texts of the test in {file}"), test),
        };
        format!(
            "  hint: the input is {shown}\n  hint: to make it a test, {into};\n        `{test}` fails until it is mended"
        )
    }
}

/// A case of the tests of closing messages as an input: small, so that many are tried.
fn story(case: &str) -> Option<Vec<u8>> {
    let after = |mark: &str| case.lines().find_map(|line| line.strip_prefix(mark)).map(str::trim);
    let calls = after("calls:").unwrap_or("").replace(" ; ", "\n");
    Some(format!("{}\n---\n{calls}", after("text:")?).into_bytes())
}

/// Files below a folder but sources, by name.
fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
    let mut out = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| Failure::io("read", folder, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| Failure::io("read", folder, &error))?.path();
        if path.is_dir() {
            out.extend(files(&path)?);
        } else if path.extension().is_none_or(|extension| extension != "rs") {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        crate::root().unwrap()
    }

    #[test]
    fn the_table_has_the_targets_of_the_manifest() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let bins = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let mut bins: Vec<String> = bins.collect();
        bins.sort();
        assert_eq!(bins, TARGETS.map(|target| target.name));
    }

    #[test]
    fn every_target_has_seeds_that_fit_and_a_place_for_what_it_finds() {
        for target in &TARGETS {
            let seeds = target.seeds(root()).unwrap();
            let fitting = seeds.iter().filter(|seed| !seed.is_empty() && seed.len() <= target.max_len).count();
            assert!(fitting > 0 && fitting * 10 >= seeds.len() * 9, "{}: {fitting} of {}", target.name, seeds.len());
            let (Keep::Folder(place, _) | Keep::List(place, _)) = target.keep;
            assert!(root().join(place).exists(), "{place}");
        }
    }

    #[test]
    fn a_case_becomes_its_message_and_a_line_per_call() {
        let case = "one\ntext: I sent it.\ncalls: send {\"to\":1} ; wait\nclaims: send\n";
        assert_eq!(story(case), Some(b"I sent it.\n---\nsend {\"to\":1}\nwait".to_vec()));
        assert_eq!(story("# arguments: 33 cases\n"), None);
        let target = TARGETS.iter().find(|target| target.name == "narrative").unwrap();
        assert!(target.seeds(root()).unwrap().len() > 300);
    }

    #[test]
    fn the_number_that_stands_for_any_format_is_behind_the_last_one() {
        assert_eq!(usize::from(AS_IT_LOOKS[0]), mcptest_core::import::Format::ALL.len());
    }

    #[test]
    fn advice_names_the_input_the_place_and_the_test() {
        let input = Path::new("target/fuzz/crashes/target/crash-1");
        let shown = |name: &str| TARGETS.iter().find(|target| target.name == name).unwrap().advice(input);
        assert_eq!(
            shown("target"),
            "  hint: the input is target/fuzz/crashes/target/crash-1
  hint: to make it a test, copy it into crates/core/tests/it/fuzzed/found/target, with a name that says what it is;
        `cargo test -p mcptest-core --test it fuzzed` fails until it is mended"
        );
        assert_eq!(
            shown("framing"),
            "  hint: the input is target/fuzz/crashes/target/crash-1
  hint: to make it a test, add it to the texts of the test in crates/runner/src/mcp/hold.rs;
        `cargo test -p mcptest-runner --lib hold` fails until it is mended"
        );
    }

    #[test]
    fn a_folder_of_seeds_that_is_gone_is_an_error() {
        let nowhere = tempfile::tempdir().unwrap();
        let failure = TARGETS[0].seeds(nowhere.path()).unwrap_err();
        assert!(failure.to_string().starts_with("cannot read "), "{failure}");
    }
}
