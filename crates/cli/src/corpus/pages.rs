//! The size of the pages of memory.
//!
//! Large pages hold more than was asked for, which doubles the little memory that reading records takes. Where much is kept anyway,
//! they save a tenth of the processor time.

/// Whether memory that is used from now on may be in large pages. What cannot be changed stays as it is.
pub(super) fn may_be_large(are_allowed: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(!are_allowed);
    #[cfg(not(target_os = "linux"))]
    let _ = are_allowed;
}
