//! What is said of a panic: where it happened, and nothing that a run brought in. A message that was put together may quote
//! what was being worked on, before secrets were taken out of it.

use std::any::Any;
use std::io::Write;
use std::panic::{self, Location};

/// Has every panic of this process told in these words.
pub fn tell_panics() {
    panic::set_hook(Box::new(|info| {
        let told = told(info.payload(), info.location());
        // When standard error is closed too, the exit code is all that is left to say it with.
        let _ = std::io::stderr().write_all(told.as_bytes());
    }));
}

fn told(payload: &(dyn Any + Send), location: Option<&Location<'_>>) -> String {
    let place = location.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    // A text that was there when the program was built holds nothing of a run.
    let words = payload.downcast_ref::<&'static str>().map_or_else(String::new, |words| format!(": {words}"));
    format!(
        "error: mcptest broke at {place}{words}\nhint: this is a mistake in mcptest; please report it with this place\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_by_its_place_without_what_it_was_about() {
        let token = ["violet", "otter"].join("-");
        let at = Location::caller();
        let hint = "hint: this is a mistake in mcptest; please report it with this place\n";
        let quoted = panic::catch_unwind(|| panic!("cannot cut `{token}`")).unwrap_err();
        assert_eq!(told(&*quoted, Some(at)), format!("error: mcptest broke at {at}\n{hint}"));
        let plain = panic::catch_unwind(|| panic!("never two")).unwrap_err();
        assert_eq!(told(&*plain, Some(at)), format!("error: mcptest broke at {at}: never two\n{hint}"));
        assert_eq!(told(&*plain, None), format!("error: mcptest broke at an unknown place: never two\n{hint}"));
    }
}
