//! Parts of sentences, the same in each.

use crate::session::{Actor, Authentication, Json, Outcome, Route};

/// How a call ended, in a word or two; nothing where it goes on.
pub(super) fn ending(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Interim => None,
        Outcome::Returned => Some("returned"),
        Outcome::Failed => Some("failed"),
        Outcome::Supplied => Some("supplied"),
        Outcome::Refused => Some("refused"),
        Outcome::Denied => Some("denied"),
        Outcome::Expired => Some("expired"),
        Outcome::TimedOut => Some("timed out"),
        Outcome::Cancelled => Some("cancelled"),
        Outcome::Unknown => Some("outcome unknown"),
        Outcome::Withdrawn => Some("withdrawn"),
    }
}

pub(super) fn way(route: Route) -> &'static str {
    match route {
        Route::ToolResponse { .. } => "toolResponse",
        Route::Conversation { .. } => "as conversation",
        Route::Parked => "parked",
        Route::Connect => "for the connection that is opened for it",
        Route::Notify => "to the program alone",
        Route::Caller => "to its caller",
        Route::Parent => "to its agent",
    }
}

/// A person, and how their name is known.
pub(super) fn who(actor: &Actor) -> String {
    let known = match actor.authenticated_by {
        Authentication::Embedder => "embedder",
        Authentication::Token => "token",
        Authentication::OsUser => "os_user",
        Authentication::None => "unchecked",
    };
    format!("{} ({known})", named(&actor.name))
}

/// A person where there is little room: how their name is known is told only where nobody checked it.
pub(super) fn person(actor: &Actor) -> String {
    match actor.authenticated_by {
        Authentication::Embedder | Authentication::Token | Authentication::OsUser => {
            named(&actor.name)
        }
        Authentication::None => who(actor),
    }
}

/// How many characters of a name are shown.
const NAME_COLUMNS: usize = 64;

/// A name, in quotes where it could pass for more than a name: whoever claims one may write behind it how it is known, or push that out of sight.
fn named(name: &str) -> String {
    let spaced = name.trim() != name || name.contains("  ");
    let marked = name.contains(|c: char| c.is_control() || "()\"\\".contains(c));
    let mut rest = name.chars();
    let mut shown: String = rest.by_ref().take(NAME_COLUMNS).collect();
    let is_cut = rest.next().is_some();
    if !(name.is_empty() || spaced || marked || is_cut) {
        return shown;
    }
    if is_cut {
        shown.push('…');
    }
    format!("{shown:?}")
}

pub(super) fn clause(reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.is_empty() => format!(": {reason}"),
        Some(_) | None => String::new(),
    }
}

/// The words of an error that a tool answered with, or the whole answer.
pub(super) fn failure_in(response: &Json) -> String {
    match response.to_value().get("error").and_then(|it| it.as_str()) {
        Some(error) => error.to_owned(),
        None => response.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_name_can_neither_pass_for_a_checked_one_nor_hide_that_nobody_checked_it() {
        let claimed = |name: &str| Actor {
            name: name.to_owned(),
            authenticated_by: Authentication::None,
        };
        for (name, shown) in [
            ("ada", "ada (unchecked)"),
            ("Ada Lovelace", "Ada Lovelace (unchecked)"),
            ("root (token)", "\"root (token)\" (unchecked)"),
            ("root  x", "\"root  x\" (unchecked)"),
            ("", "\"\" (unchecked)"),
            ("a\nb", "\"a\\nb\" (unchecked)"),
        ] {
            assert_eq!(who(&claimed(name)), shown);
            assert_eq!(person(&claimed(name)), shown);
        }
        let long = who(&claimed(&"x".repeat(200_000)));
        assert_eq!(long, format!("\"{}…\" (unchecked)", "x".repeat(64)));
        assert_eq!(person(&Actor::os_user("ada")), "ada");
    }
}
