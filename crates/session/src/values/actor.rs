//! Actors: the kind of party in a record's envelope, and the name in its body.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The kind of party that caused a record. It is never encrypted, so it holds no name.
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
    /// A person or service outside the conversation: an approver, an operator, the embedding
    /// program.
    Person,
    /// A program that answered without a person, such as a flag of the command line or a
    /// confirmation provider.
    Program,
    /// The clock.
    Clock,
}

impl ActorKind {
    /// The kind as the envelope spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ActorKind::Engine => "engine",
            ActorKind::Model => "model",
            ActorKind::User => "user",
            ActorKind::Tool => "tool",
            ActorKind::Person => "person",
            ActorKind::Program => "program",
            ActorKind::Clock => "clock",
        }
    }
}

/// The party that answered, supplied a result, cancelled or closed, and how its name was verified.
///
/// ```json
/// {"name":"ada","authenticated_by":"os_user"}
/// {"name":"ada","authenticated_by":"os_user","as":"person"}
/// {"name":"ada","authenticated_by":"os_user","as":{"program":"recount run --approve-all"}}
/// {"name":"ada","authenticated_by":"token","issuer":"https://login.example","roles":["finance"]}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Actor {
    /// The name as the entry point knows it.
    pub name: String,
    /// The way in which the entry point verified the name.
    pub authenticated_by: Authentication,
    /// The party that decided in this name. `None` where the entry point cannot tell a person from
    /// a program, and in every record written before this field existed.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub acted_as: Option<ActedAs>,
    /// The identity that another party vouches for, as the entry point saw it. Its fields stand
    /// beside the others. `None`: the entry point itself knows the name.
    #[serde(flatten)]
    pub identity: Option<Box<Identity>>,
}

/// The entry points that vouch for names without an issuer of their own. No identity may name one
/// of them as its issuer.
pub(crate) const ENTRY_POINTS: [&str; 2] = ["os_user", "embedder"];

/// The stored fields of an actor.
///
/// A flattened `Option` would read an identity with a malformed field as none. The actor would then
/// be a person of the entry point.
#[derive(Deserialize)]
struct Stored {
    name: String,
    authenticated_by: Authentication,
    #[serde(default, rename = "as")]
    acted_as: Option<ActedAs>,
    #[serde(default, deserialize_with = "present")]
    issuer: Option<String>,
    #[serde(default)]
    roles: BTreeSet<String>,
    #[serde(default)]
    groups: BTreeSet<String>,
}

/// Reads a field that is not `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Actor, D::Error> {
        let Stored {
            name,
            authenticated_by,
            acted_as,
            issuer,
            roles,
            groups,
        } = Stored::deserialize(from)?;
        let identity = |issuer| Identity {
            issuer,
            roles,
            groups,
        };
        Ok(Actor {
            name,
            authenticated_by,
            acted_as,
            identity: issuer.map(identity).map(Box::new),
        })
    }
}

/// An identity that another party than the entry point vouches for, such as that of a token.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The party that vouches for the name, such as the issuer of a token.
    pub issuer: String,
    /// The roles that the entry point saw with the name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<String>,
    /// The groups that the entry point saw with the name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
}

impl Identity {
    /// An identity without roles and groups.
    ///
    /// ```
    /// use recount_session::{Actor, Identity};
    /// let finance = Identity::of("https://login.example").with_role("finance");
    /// let ada = Actor::token("ada").with_identity(finance);
    /// assert_eq!(ada.issuer(), Some("https://login.example"));
    /// ```
    pub fn of(issuer: impl Into<String>) -> Identity {
        Identity {
            issuer: issuer.into(),
            ..Identity::default()
        }
    }

    /// Adds a role.
    #[must_use]
    pub fn with_role(mut self, role: impl Into<String>) -> Identity {
        self.roles.insert(role.into());
        self
    }

    /// Adds a group.
    #[must_use]
    pub fn with_group(mut self, group: impl Into<String>) -> Identity {
        self.groups.insert(group.into());
        self
    }
}

/// A person as approvals count them: the issuer of the name, and the name.
///
/// Two names are one person only if the same party vouches for both.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Person {
    /// The issuer of the name: that of the actor, or else `embedder` or `os_user`.
    pub issuer: String,
    /// The name.
    pub subject: String,
}

/// The party that decided in an actor's name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActedAs {
    /// A person looked at the request and decided.
    Person,
    /// This flag or provider of a program decided, without a person.
    Program(String),
}

/// The way in which an actor's name was verified. It is never taken from the message itself.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authentication {
    /// The embedding program vouches for the name.
    Embedder,
    /// The sender presented a token.
    Token,
    /// The name is the operating system's user of the process.
    OsUser,
    /// The name was not verified.
    None,
}

impl Actor {
    /// An actor that the embedding program vouches for.
    ///
    /// ```
    /// use recount_session::{Actor, Authentication};
    /// assert_eq!(Actor::embedder("ada").authenticated_by, Authentication::Embedder);
    /// ```
    pub fn embedder(name: impl Into<String>) -> Actor {
        Actor::known_by(Authentication::Embedder, name)
    }

    /// An actor whose name was not verified.
    ///
    /// ```
    /// use recount_session::Actor;
    /// assert_eq!(Actor::unverified("ada").person(), None);
    /// ```
    pub fn unverified(name: impl Into<String>) -> Actor {
        Actor::known_by(Authentication::None, name)
    }

    /// An actor whose name came with a token.
    ///
    /// ```
    /// use recount_session::{Actor, Authentication};
    /// assert_eq!(Actor::token("ada").authenticated_by, Authentication::Token);
    /// ```
    pub fn token(name: impl Into<String>) -> Actor {
        Actor::known_by(Authentication::Token, name)
    }

    /// An actor with the name of this process's operating system user.
    pub fn os_user(name: impl Into<String>) -> Actor {
        Actor::known_by(Authentication::OsUser, name)
    }

    fn known_by(authenticated_by: Authentication, name: impl Into<String>) -> Actor {
        Actor {
            name: name.into(),
            authenticated_by,
            acted_as: None,
            identity: None,
        }
    }

    /// Adds the identity that another party vouches for.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Actor {
        self.identity = Some(Box::new(identity));
        self
    }

    /// The party that vouches for the name, if it is another one than the entry point.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        self.identity.as_ref().map(|it| it.issuer.as_str())
    }

    /// Marks that a person decided, as the entry point saw.
    ///
    /// ```
    /// use recount_session::{ActedAs, Actor};
    /// assert_eq!(Actor::embedder("ada").as_person().acted_as, Some(ActedAs::Person));
    /// ```
    #[must_use]
    pub fn as_person(mut self) -> Actor {
        self.acted_as = Some(ActedAs::Person);
        self
    }

    /// Marks that a flag or a provider decided in this actor's name, without a person.
    ///
    /// Audits count its approvals as runs without a person's approval.
    ///
    /// ```
    /// use recount_session::Actor;
    /// let nightly = Actor::embedder("billing").as_program("nightly refunds");
    /// assert_eq!(nightly.to_string(), r#"program "nightly refunds" for billing (embedder)"#);
    /// ```
    #[must_use]
    pub fn as_program(mut self, decided: impl Into<String>) -> Actor {
        self.acted_as = Some(ActedAs::Program(decided.into()));
        self
    }

    /// The person that acted. `None` if a program decided, or if the name was not verified.
    ///
    /// Also `None` if the name is blank, or if the identity has no issuer or that of an entry
    /// point: no party vouches for such a name.
    ///
    /// ```
    /// use recount_session::{Actor, Person};
    /// let ada = Person { issuer: "embedder".to_owned(), subject: "ada".to_owned() };
    /// assert_eq!(Actor::embedder("ada").person(), Some(ada));
    /// assert_eq!(Actor::embedder("ada").as_program("nightly").person(), None);
    /// ```
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        let entry_point = match self.authenticated_by {
            Authentication::Embedder => "embedder",
            // Without an issuer, the token is that of the control socket. It proves a user of the
            // operating system, who would otherwise count as two persons.
            Authentication::Token | Authentication::OsUser => "os_user",
            Authentication::None => return None,
        };
        let issuer = match self.issuer() {
            None => entry_point,
            Some(issuer) if is_blank(issuer) || ENTRY_POINTS.contains(&issuer) => return None,
            Some(issuer) => issuer,
        };
        (!self.is_program() && !is_blank(&self.name)).then(|| Person {
            issuer: issuer.to_owned(),
            subject: self.name.clone(),
        })
    }

    /// True if a program decided without a person.
    pub fn is_program(&self) -> bool {
        matches!(self.acted_as, Some(ActedAs::Program(_)))
    }

    /// The prefix of the name when a program decided; otherwise empty.
    fn program(&self) -> String {
        match &self.acted_as {
            Some(ActedAs::Program(decided)) => format!("program {decided:?} for "),
            Some(ActedAs::Person) | None => String::new(),
        }
    }
}

/// True if the text has nothing but white space.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

impl Actor {
    /// The short form of the actor: it names the verification only if there was none.
    #[doc(hidden)]
    pub fn in_short(&self) -> String {
        match self.authenticated_by {
            Authentication::Embedder | Authentication::Token | Authentication::OsUser => {
                format!("{}{}", self.program(), self.shown())
            }
            // The unverified name comes last, so that it cannot push anything out of sight.
            Authentication::None => format!("{}unchecked {}", self.program(), self.quoted()),
        }
    }

    fn shown(&self) -> String {
        let name = &self.name;
        let spaced = name.trim() != name || name.contains("  ");
        // Characters that Rust escapes in debug output are not printable, so the name is quoted.
        let is_escaped = |c: char| c.escape_debug().nth(1).is_some();
        let marked = name.contains(|c: char| is_escaped(c) || "()\"\\,;:".contains(c));
        match name.is_empty() || spaced || marked {
            true => self.quoted(),
            false => name.clone(),
        }
    }

    fn quoted(&self) -> String {
        format!("{:?}", self.name)
    }
}

/// Formats the name with the way in which it was verified.
///
/// An unverified name is quoted after the word `unchecked`. A verified name is quoted only where it
/// could be read as more than a name. So no chosen name can look like a statement about its
/// verification.
///
/// ```
/// use recount_session::{Actor, Authentication};
///
/// let authenticated_by = Authentication::None;
/// let claimed = Actor { authenticated_by, ..Actor::embedder("root (token)") };
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
        write!(f, "{}{} ({known})", self.program(), self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_name_or_issuer_is_no_person() {
        let issued = |issuer: &str| Actor::token("ada").with_identity(Identity::of(issuer));
        assert!(issued("https://login.example").person().is_some());
        for actor in [
            Actor::embedder(""),
            Actor::os_user(" "),
            Actor::token("\t").with_identity(Identity::of("https://login.example")),
            issued(""),
            issued(" "),
        ] {
            assert_eq!(actor.person(), None, "{actor:?}");
        }
    }

    #[test]
    fn identity_of_an_entry_point_is_no_person() {
        for entry_point in ENTRY_POINTS {
            let claimed = Actor::token("ada").with_identity(Identity::of(entry_point));
            assert_eq!(claimed.person(), None);
        }
    }

    #[test]
    fn malformed_identity_is_no_user_of_the_system() {
        let read = |identity: &str| {
            let text = format!(r#"{{"name":"ada","authenticated_by":"token"{identity}}}"#);
            serde_json::from_str::<Actor>(&text)
        };
        for identity in [
            r#","issuer":null"#,
            r#","issuer":7"#,
            r#","issuer":"https://login.example","roles":"finance""#,
            r#","issuer":"https://login.example","roles":null"#,
            r#","issuer":"https://login.example","groups":{"eu":true}"#,
        ] {
            assert!(read(identity).is_err(), "{identity}");
        }
        assert!(read("").is_ok_and(|it| it == Actor::token("ada")));
        let identity = Identity::of("https://login.example").with_role("finance");
        let actor = Actor::token("ada").as_person().with_identity(identity);
        let text = serde_json::to_string(&actor);
        let again = text.and_then(|it| serde_json::from_str::<Actor>(&it));
        assert!(again.is_ok_and(|it| it == actor));
    }

    #[test]
    fn unverified_name_is_always_marked() {
        let claimed = |name: &str| Actor {
            authenticated_by: Authentication::None,
            ..Actor::embedder(name)
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
    fn verified_name_is_quoted_if_ambiguous() {
        for (name, shown) in [
            ("ada", "ada"),
            ("Ada Lovelace", "Ada Lovelace"),
            ("root (token)", "\"root (token)\""),
            ("ada, at seq 7", "\"ada, at seq 7\""),
            ("root  x", "\"root  x\""),
            (" ada", "\" ada\""),
            ("", "\"\""),
            ("ada\u{202e}toor", "\"ada\\u{202e}toor\""),
            ("ada\u{a0}x", "\"ada\\u{a0}x\""),
            ("ada\u{e0041}", "\"ada\\u{e0041}\""),
            ("José Núñez", "José Núñez"),
            ("阿达", "阿达"),
        ] {
            let actor = Actor::embedder(name);
            assert_eq!(actor.in_short(), shown);
            assert_eq!(actor.to_string(), format!("{shown} (embedder)"));
        }
    }
}
