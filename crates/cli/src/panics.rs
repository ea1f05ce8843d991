//! The message of a panic: only where it happened, with no data of a run. A formatted message may quote data that was not
//! redacted yet.

use std::any::Any;
use std::io::Write;
use std::panic::{self, Location};

/// Installs a panic hook that prints this message.
pub fn install_panic_hook() {
    panic::set_hook(Box::new(|info| {
        let message = message(info.payload(), info.location());
        // If standard error is closed too, only the exit code is left.
        let _ = std::io::stderr().write_all(message.as_bytes());
    }));
}

fn message(payload: &(dyn Any + Send), location: Option<&Location<'_>>) -> String {
    let place = location.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    // A text that is part of the program contains nothing from a run.
    let words = payload.downcast_ref::<&'static str>().map_or_else(String::new, |words| format!(": {words}"));
    format!(
        "error: mcptest broke at {place}{words}\nhint: this is a mistake in mcptest; please report it with this place\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_with_its_place_and_without_data() {
        let token = ["violet", "otter"].join("-");
        let at = Location::caller();
        let hint = "hint: this is a mistake in mcptest; please report it with this place\n";
        let quoted = panic::catch_unwind(|| panic!("cannot cut `{token}`")).unwrap_err();
        assert_eq!(message(&*quoted, Some(at)), format!("error: mcptest broke at {at}\n{hint}"));
        let plain = panic::catch_unwind(|| panic!("never two")).unwrap_err();
        assert_eq!(message(&*plain, Some(at)), format!("error: mcptest broke at {at}: never two\n{hint}"));
        assert_eq!(message(&*plain, None), format!("error: mcptest broke at an unknown place: never two\n{hint}"));
    }
}
