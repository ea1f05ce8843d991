//! The size of the pages of memory.
//!
//! Large pages hold more than was asked for, which doubles the little memory that reading records takes. Where much is kept anyway,
//! they save a tenth of the processor time.

use std::sync::Once;

use crate::args::Command;

/// Whether large pages may still be allowed again.
static ALLOW: Once = Once::new();

/// Asks for small pages, so that the memory of the command itself is in them too.
pub(crate) fn prefer_small() {
    if are_small() {
        // Whoever started the command wants it so.
        ALLOW.call_once(|| {});
    } else {
        set(false);
    }
}

/// Lets all commands have large pages that do more than read records: programs that they start would have small ones too.
pub(crate) fn fit(command: &Command) {
    if !matches!(command, Command::Score(_) | Command::Convert(_) | Command::Infer(_) | Command::Mutate(_)) {
        allow_large();
    }
}

/// Lets memory that is used from now on be in large pages.
pub(crate) fn allow_large() {
    ALLOW.call_once(|| set(true));
}

#[cfg(target_os = "linux")]
fn are_small() -> bool {
    rustix::thread::transparent_huge_pages_are_disabled().unwrap_or(true)
}

/// What cannot be changed stays as it is.
#[cfg(target_os = "linux")]
fn set(are_large: bool) {
    let _ = rustix::thread::disable_transparent_huge_pages(!are_large);
}

/// Elsewhere the system decides.
#[cfg(not(target_os = "linux"))]
fn are_small() -> bool {
    true
}

#[cfg(not(target_os = "linux"))]
fn set(_: bool) {}
