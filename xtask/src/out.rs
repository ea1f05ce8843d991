//! The only place that prints.

#[expect(clippy::print_stdout, reason = "the one place of this tool that writes to stdout")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "the one place of this tool that writes to stderr")]
pub(crate) fn complain(line: &str) {
    eprintln!("{line}");
}
