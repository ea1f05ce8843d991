//! `deny.toml`: what `cargo xtask tidy` accepts from others, in the words of `cargo deny`.

use crate::tidy::{ACCEPTED, REGISTRY, SEVERAL, SYSTEMS};

/// The text of the file.
pub(super) fn file() -> String {
    let list = |lines: Vec<String>| lines.join(",\n  ");
    let systems = list(SYSTEMS.iter().map(|system| format!("{system:?}")).collect());
    let licences = list(ACCEPTED.iter().map(|name| format!("{name:?}")).collect());
    let skipped = |(name, why): &(&str, &str)| format!("{{ crate = {name:?}, reason = {:?} }}", why.replace('`', "'"));
    let several = list(SEVERAL.iter().map(skipped).collect());
    format!(
        "\
# Written by `cargo xtask gen` from the lists of `cargo xtask tidy`, which checks the same and more without `cargo deny`.

[graph]
targets = [
  {systems},
]

[licenses]
allow = [
  {licences},
]
# The lists cover tests and other systems too.
unused-allowed-license = \"allow\"

[bans]
multiple-versions = \"deny\"
skip = [
  {several},
]

[sources]
unknown-registry = \"deny\"
unknown-git = \"deny\"
allow-registry = [{REGISTRY:?}]
allow-git = []
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_accepted_is_in_the_file_and_nothing_is_written_that_toml_reads_otherwise() {
        let text = file();
        for name in ACCEPTED {
            assert!(text.contains(&format!("  \"{name}\",\n")), "{name}");
        }
        for (name, why) in SEVERAL {
            let why = why.replace('`', "'");
            assert!(text.contains(&format!("  {{ crate = \"{name}\", reason = \"{why}\" }},\n")), "{name}");
        }
        assert!(!text.contains('\\'), "Rust and TOML escape alike only where nothing is escaped");
        assert!(text.contains(&format!("allow-registry = [\"{REGISTRY}\"]\n")));
    }
}
