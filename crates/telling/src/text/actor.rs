//! People and programs in sentences, with how their identity was verified.

use recount::session::{ActedAs, Actor, ActorKind, Authentication};

/// The party behind an act, such as `by ada (os_user)`; `link` is the word before the name.
///
/// A name that was not verified comes after the words that say so, so that a long name cannot push
/// them out of sight.
pub fn acted(link: &str, actor: &Actor) -> String {
    unverified(link, actor).unwrap_or_else(|| format!("{link} {actor}"))
}

/// The words of [`acted`] where there is little room: how a verified name was verified is left out.
pub fn acted_in_short(link: &str, actor: &Actor) -> String {
    unverified(link, actor).unwrap_or_else(|| format!("{link} {}", actor.in_short()))
}

fn unverified(link: &str, actor: &Actor) -> Option<String> {
    if actor.authenticated_by != Authentication::None {
        return None;
    }
    let program = match &actor.acted_as {
        Some(ActedAs::Program(decided)) => format!("program {decided:?} for "),
        Some(ActedAs::Person) | None => String::new(),
    };
    let name = &actor.name;
    let space = if link.is_empty() { "" } else { " " };
    Some(format!(
        "(identity not verified) {link}{space}{program}{name:?}"
    ))
}

/// The word for a party in its column.
pub fn party(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Engine => "engine",
        ActorKind::Model => "model",
        ActorKind::User => "user",
        ActorKind::Tool => "tool",
        ActorKind::Person => "person",
        ActorKind::Program => "program",
        ActorKind::Clock => "clock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unverified_name_stands_behind_the_words_that_say_so() {
        let claimed = Actor {
            authenticated_by: Authentication::None,
            ..Actor::embedder("root (token)")
        };
        let shown = r#"(identity not verified) by "root (token)""#;
        assert_eq!(acted("by", &claimed), shown);
        assert_eq!(acted_in_short("by", &claimed), shown);
        let shown = r#"(identity not verified) "root (token)""#;
        assert_eq!(unverified("", &claimed).as_deref(), Some(shown));
        assert_eq!(acted("from", &Actor::os_user("ada")), "from ada (os_user)");
        assert_eq!(acted_in_short("by", &Actor::os_user("ada")), "by ada");
        assert_eq!(
            acted("by", &claimed.as_program("nightly")),
            r#"(identity not verified) by program "nightly" for "root (token)""#
        );
    }
}
