//! Messages: what went wrong, why, and what to do.

use super::page::Page;
use crate::trouble::{self, Trouble};

/// The trouble of a name.
pub(super) fn named(name: &str, page: &mut Page) {
    if let Some(trouble) = trouble::all().find(|trouble| trouble.name == name) {
        told(trouble, page);
    }
}

/// The likeliest of the troubles that were found, and the names of the others.
pub(super) fn explain(found: &[&Trouble], page: &mut Page) {
    let Some((best, others)) = found.split_first() else { return };
    told(best, page);
    if !others.is_empty() {
        page.heading("It may also be about");
        for other in others {
            page.item(&format!("{} ", other.name), other.title);
        }
        page.text("`mcptest explain NAME` explains one of them.");
    }
}

fn told(trouble: &Trouble, page: &mut Page) {
    page.subject(trouble.title, trouble.name);
    page.heading("As in");
    page.wrapped(trouble.example);
    page.heading("Why");
    page.indented(trouble.why);
    page.steps("What to do", trouble.steps);
}
