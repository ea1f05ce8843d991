//! The size of the pages of memory.
//!
//! Large pages hold more than was asked for, which doubles the little memory that reading records takes. Where much is kept anyway,
//! they save a tenth of the processor time.

use crate::args::Command;

/// Whether memory that is used from now on may be in large pages. What cannot be changed stays as it is.
pub(crate) fn may_be_large(are_allowed: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(!are_allowed);
    #[cfg(not(target_os = "linux"))]
    let _ = are_allowed;
}

/// Allows them again for commands other than those that only read records: programs that are started would have small ones too.
pub(crate) fn fit(command: &Command) {
    let reads_records =
        matches!(command, Command::Score(_) | Command::Convert(_) | Command::Infer(_) | Command::Mutate(_));
    may_be_large(!reads_records);
}
