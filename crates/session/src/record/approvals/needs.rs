//! The terms of an answer, pinned by the request: who may give it, and how many must.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::policies::approvers::Approvers;
use crate::values::actor::{Actor, Person, is_blank};

/// The terms that the answers to one confirmation request must meet.
///
/// ```json
/// {"approvers":[{"roles":["finance"]}],"quorum":2}
/// {"not_requester":true,"requester":{"name":"ada"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// The people who may answer. An answer needs a match in each entry of the list.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approvers: BTreeSet<Approvers>,
    /// True if the requester of the call may not approve it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_requester: bool,
    /// The requester of the call, if it matters and is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<Requester>,
    /// The number of persons who must approve. `None`: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<NonZeroU32>,
}

/// The party that asked for a call: the program or person that made it, or else the one for whom
/// the session's agent acts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requester {
    /// The issuer of the name. `None`: the name is compared with the persons of every issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The name.
    pub name: String,
}

impl Requester {
    /// The actor that made a call, also if a program made it in the actor's name.
    ///
    /// ```
    /// use recount_session::{Actor, Person, Requester};
    /// let nightly = Requester::of(&Actor::embedder("ada").as_program("nightly"));
    /// assert!(nightly.is(&Person::embedder("ada")) && !nightly.is(&Person::os_user("ada")));
    /// ```
    #[must_use]
    pub fn of(by: &Actor) -> Requester {
        let mut by = by.clone();
        by.acted_as = None;
        Requester {
            issuer: by.person().map(|it| it.issuer),
            name: by.name,
        }
    }

    /// The party that a session names by text alone.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Requester {
        Requester {
            issuer: None,
            name: name.into(),
        }
    }

    /// True if the requester is, or may be, this person.
    ///
    /// A name without an issuer is free text. It may be the name or `issuer:name`, in any case.
    ///
    /// ```
    /// use recount_session::{Person, Requester};
    /// let ada = Person::of("https://login.example", "ada");
    /// for text in ["ada", "Ada ", "https://login.example:ada"] {
    ///     assert!(Requester::named(text).is(&ada));
    /// }
    /// ```
    #[must_use]
    pub fn is(&self, person: &Person) -> bool {
        if let Some(issuer) = &self.issuer {
            return self.name == person.subject && *issuer == person.issuer;
        }
        let folded = |text: &str| text.trim().to_lowercase();
        let own = folded(&self.name);
        own == folded(&person.subject) || own == folded(&person.to_string())
    }

    /// True if the name identifies a party.
    fn is_known(&self) -> bool {
        !is_blank(&self.name)
    }
}

/// The reason why an actor may not give an answer, whatever the answers before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Barred {
    /// A program answered without a person.
    Automatic,
    /// The name of the actor was not verified.
    Unverified,
    /// The person is not one of the approvers.
    NotAnApprover,
    /// The person requested the call.
    Requester,
    /// The requester may not approve, and it is unknown who that is.
    RequesterUnknown,
}

impl Barred {
    /// The reason as a stable code, as `answer_refused` records it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Barred::Automatic => "automatic_answer",
            Barred::Unverified => "unverified_answer",
            Barred::NotAnApprover => "not_an_approver",
            Barred::Requester => "is_the_requester",
            Barred::RequesterUnknown => "requester_unknown",
        }
    }
}

impl fmt::Display for Barred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Barred::Automatic => "only a person may answer, and a program did",
            Barred::Unverified => "only a person may answer whose name was verified",
            Barred::NotAnApprover => "the policy does not name this person as an approver",
            Barred::Requester => "the requester of the call may not approve it",
            Barred::RequesterUnknown => {
                "the requester of the call may not approve it, and the session does not say who \
                 that is; open sessions with on_behalf_of"
            }
        })
    }
}

impl Needs {
    /// Checks that the actor may give an answer. `denies` is true for a no, which the requester may
    /// give, too.
    ///
    /// ```
    /// use recount_session::{Actor, Barred, Needs, Requester};
    /// let requester = Some(Requester::named("ada"));
    /// let needs = Needs { not_requester: true, requester, ..Needs::default() };
    /// assert_eq!(needs.admit(&Actor::os_user("ada"), false), Err(Barred::Requester));
    /// assert!(needs.admit(&Actor::os_user("ada"), true).is_ok());
    /// assert!(needs.admit(&Actor::os_user("bob"), false).is_ok());
    /// ```
    ///
    /// # Errors
    /// [`Barred`] with the reason.
    pub fn admit(&self, by: &Actor, denies: bool) -> Result<Person, Barred> {
        if by.is_program() {
            return Err(Barred::Automatic);
        }
        let person = by.person().ok_or(Barred::Unverified)?;
        if !self.approvers.iter().all(|it| it.include(by)) {
            return Err(Barred::NotAnApprover);
        }
        if self.not_requester && !denies {
            match self.requester.as_ref().filter(|it| it.is_known()) {
                None => return Err(Barred::RequesterUnknown),
                Some(requester) if requester.is(&person) => return Err(Barred::Requester),
                Some(_) => {}
            }
        }
        Ok(person)
    }

    /// The number of persons who must approve.
    #[must_use]
    pub fn approvals(&self) -> u32 {
        self.quorum.map_or(1, NonZeroU32::get)
    }
}
