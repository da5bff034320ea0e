//! Who did something: a closed kind in the envelope, the name in the body.

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
