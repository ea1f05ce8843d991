//! `deny.toml`: what `cargo xtask tidy` accepts from others, in the words of `cargo deny`.

use crate::tidy::{ACCEPTED, REGISTRY, SEVERAL, SYSTEMS};

/// The text of the file.
pub(super) fn file() -> String {
    let systems: String = SYSTEMS.iter().map(|system| format!("  {system:?},\n")).collect();
    let licences: String = ACCEPTED.iter().map(|(name, why)| format!("  # {why}\n  {name:?},\n")).collect();
    let several: String = SEVERAL
        .iter()
        .map(|(name, why)| format!("  {{ crate = {name:?}, reason = {:?} }},\n", why.replace('`', "'")))
        .collect();
    format!(
        "\
# Written by `cargo xtask gen` from the lists of `cargo xtask tidy`, which checks the same and more without `cargo deny`.

[graph]
targets = [
{systems}]

[licenses]
allow = [
{licences}]
# The lists cover tests and other systems too.
unused-allowed-license = \"allow\"

[bans]
multiple-versions = \"deny\"
skip = [
{several}]

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
        for (name, why) in ACCEPTED {
            assert!(text.contains(&format!("  # {why}\n  \"{name}\",\n")), "{name}");
        }
        for (name, why) in SEVERAL {
            let why = why.replace('`', "'");
            assert!(text.contains(&format!("  {{ crate = \"{name}\", reason = \"{why}\" }},\n")), "{name}");
        }
        assert!(!text.contains('\\'), "Rust and TOML escape alike only where nothing is escaped");
        assert!(text.contains(&format!("allow-registry = [\"{REGISTRY}\"]\n")));
    }
}
