//! The reads of recorded sessions.

use maud::html;

use super::frame::Section;
use super::told::Told;

pub(super) fn reads(_told: &Told<'_>) -> Section {
    let body = html! {
        p {
            "No access journal was given to the writer of this bundle, so the page does not say "
            "who read the sessions. Reads of the owner’s command line are not recorded."
        }
    };
    Section {
        id: "reads",
        title: "Reads",
        body,
    }
}
