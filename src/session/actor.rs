//! Who did something: a closed kind in the envelope, the name in the body.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of party behind a record; it stays in clear for ever, so it holds no name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// The engine: every decision, and what the process itself did.
    Engine,
    /// The model, over its connection.
    Model,
    /// The person in the conversation.
    User,
    /// A tool.
    Tool,
    /// A person or service outside the conversation: an approver, an operator, the embedding program.
    Person,
    /// The clock.
    Clock,
}

impl ActorKind {
    /// As the envelope spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ActorKind::Engine => "engine",
            ActorKind::Model => "model",
            ActorKind::User => "user",
            ActorKind::Tool => "tool",
            ActorKind::Person => "person",
            ActorKind::Clock => "clock",
        }
    }
}

/// Who answered, supplied, cancelled or closed, and how that was known.
///
/// ```json
/// {"name":"ada","authenticated_by":"os_user"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actor {
    /// The name as the door that let them in knows it.
    pub name: String,
    /// How that door knew.
    pub authenticated_by: Authentication,
}

/// How an actor's name was established. Never taken from the message itself.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authentication {
    /// The embedding program vouches for the name.
    Embedder,
    /// A token was shown.
    Token,
    /// The operating system's user of the process.
    OsUser,
    /// Nobody checked.
    None,
}

impl Actor {
    /// An actor that the embedding program vouches for.
    ///
    /// ```
    /// use recount::session::{Actor, Authentication};
    /// assert_eq!(Actor::embedder("ada").authenticated_by, Authentication::Embedder);
    /// ```
    pub fn embedder(name: impl Into<String>) -> Actor {
        Actor {
            name: name.into(),
            authenticated_by: Authentication::Embedder,
        }
    }

    /// The operating system's user of this process.
    pub fn os_user(name: impl Into<String>) -> Actor {
        Actor {
            name: name.into(),
            authenticated_by: Authentication::OsUser,
        }
    }
}

impl Actor {
    /// As where there is little room: how a name is known is told only where nobody checked it.
    pub(crate) fn in_short(&self) -> String {
        match self.authenticated_by {
            Authentication::Embedder | Authentication::Token | Authentication::OsUser => {
                self.shown()
            }
            // What is claimed comes last, so that it can push nothing out of sight.
            Authentication::None => format!("unchecked {}", self.quoted()),
        }
    }

    fn shown(&self) -> String {
        let name = &self.name;
        let spaced = name.trim() != name || name.contains("  ");
        let marked = name.contains(|c: char| c.is_control() || "()\"\\,;:".contains(c));
        match name.is_empty() || spaced || marked {
            true => self.quoted(),
            false => name.clone(),
        }
    }

    fn quoted(&self) -> String {
        format!("{:?}", self.name)
    }
}

/// A name says how it is known. One that nobody checked stands in quotes behind that word, and any other in quotes where it could pass
/// for more than a name, so that nothing that somebody calls themselves can look like what is said of them.
///
/// ```
/// use recount::session::{Actor, Authentication};
///
/// let claimed = Actor { name: "root (token)".to_owned(), authenticated_by: Authentication::None };
/// assert_eq!(claimed.to_string(), r#"unchecked "root (token)""#);
/// assert_eq!(Actor::os_user("ada").to_string(), "ada (os_user)");
/// ```
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = match self.authenticated_by {
            Authentication::Embedder => "embedder",
            Authentication::Token => "token",
            Authentication::OsUser => "os_user",
            Authentication::None => return f.write_str(&self.in_short()),
        };
        write!(f, "{} ({known})", self.shown())
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
            ("ada", "unchecked \"ada\""),
            ("root (token)", "unchecked \"root (token)\""),
            ("", "unchecked \"\""),
            ("a\nb", "unchecked \"a\\nb\""),
        ] {
            assert_eq!(claimed(name).to_string(), shown);
            assert_eq!(claimed(name).in_short(), shown);
        }
    }

    #[test]
    fn a_checked_name_is_quoted_where_it_could_pass_for_more_than_a_name() {
        for (name, shown) in [
            ("ada", "ada"),
            ("Ada Lovelace", "Ada Lovelace"),
            ("root (token)", "\"root (token)\""),
            ("ada, at seq 7", "\"ada, at seq 7\""),
            ("root  x", "\"root  x\""),
            (" ada", "\" ada\""),
            ("", "\"\""),
        ] {
            let actor = Actor::embedder(name);
            assert_eq!(actor.in_short(), shown);
            assert_eq!(actor.to_string(), format!("{shown} (embedder)"));
        }
    }
}
