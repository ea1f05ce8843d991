//! The size of the pages of memory.
//!
//! Large pages hold more than was asked for, which doubles the little memory that reading records takes. Where much is kept anyway,
//! they save a tenth of the processor time.

use std::sync::Once;

use crate::args::Command;

/// Asks for small pages, so that the memory of the command itself is in them too.
pub(crate) fn prefer_small() {
    set(false);
}

/// Lets all commands have large pages that do more than read records: programs that they start would have small ones too.
pub(crate) fn fit(command: &Command) {
    if !matches!(command, Command::Score(_) | Command::Convert(_) | Command::Infer(_) | Command::Mutate(_)) {
        allow_large();
    }
}

/// Lets memory that is used from now on be in large pages.
pub(crate) fn allow_large() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set(true));
}

/// What cannot be changed stays as it is.
fn set(is_large: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(!is_large);
    #[cfg(not(target_os = "linux"))]
    let _ = is_large;
}
