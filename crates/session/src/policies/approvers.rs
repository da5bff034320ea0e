//! The people who may approve a gated call.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::values::actor::{Actor, ENTRY_POINTS, Person, is_blank};

/// The maximum number of approvals that a policy may ask for.
///
/// Every yes is a record and part of the folded session until the last one. No review that we know
/// of has more reviewers.
pub const QUORUM_MAX: u32 = 16;

/// The people who may answer a confirmation request. One matching entry suffices.
///
/// A role or a group counts only if the actor names the issuer that vouches for it. The users of
/// the operating system, of the embedding program and of ADK have no issuer, so only `names` admits
/// them. A value without entries admits no person.
///
/// ```
/// use recount_session::{Actor, Approvers, Identity, Person};
///
/// let approvers = Approvers::roles(["finance"]).or(Approvers::names([Person::os_user("ada")]));
/// assert!(approvers.include(&Actor::os_user("ada")));
/// assert!(!approvers.include(&Actor::embedder("ada")));
/// assert!(!approvers.include(&Actor::token("bob")));
/// let finance = Identity::of("https://login.example").with_role("finance");
/// assert!(approvers.include(&Actor::token("bob").with_identity(finance)));
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approvers {
    /// The roles whose holders may answer.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<String>,
    /// The groups whose members may answer.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// The persons who may answer, each with the issuer of the name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub names: BTreeSet<Person>,
}

impl Approvers {
    /// The holders of one of these roles.
    #[must_use]
    pub fn roles<R: Into<String>>(roles: impl IntoIterator<Item = R>) -> Self {
        Self {
            roles: roles.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The members of one of these groups.
    #[must_use]
    pub fn groups<G: Into<String>>(groups: impl IntoIterator<Item = G>) -> Self {
        Self {
            groups: groups.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// These persons.
    #[must_use]
    pub fn names(names: impl IntoIterator<Item = Person>) -> Self {
        Self {
            names: names.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The people of both values.
    #[must_use]
    pub fn or(mut self, mut other: Self) -> Self {
        self.roles.append(&mut other.roles);
        self.groups.append(&mut other.groups);
        self.names.append(&mut other.names);
        self
    }

    /// True if no person is admitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.groups.is_empty() && self.names.is_empty()
    }

    /// True if a role, a group, a name or an issuer is blank. No party vouches for such a text.
    ///
    /// ```
    /// use recount_session::Approvers;
    /// assert!(Approvers::roles(["finance", ""]).have_blank_entry());
    /// assert!(!Approvers::roles(["finance"]).have_blank_entry());
    /// ```
    #[must_use]
    pub fn have_blank_entry(&self) -> bool {
        let persons = self.names.iter().flat_map(|it| [&it.issuer, &it.subject]);
        let texts = self.roles.iter().chain(&self.groups).chain(persons);
        texts.into_iter().any(|it| is_blank(it))
    }

    /// True if the actor is a person who may answer.
    #[must_use]
    pub fn include(&self, by: &Actor) -> bool {
        let Some(person) = by.person() else {
            return false;
        };
        let listed = by.identity.as_ref().is_some_and(|it| {
            !self.roles.is_disjoint(&it.roles) || !self.groups.is_disjoint(&it.groups)
        });
        self.names.contains(&person) || listed
    }
}

/// Formats the entries: `role finance, os_user:ada`.
impl fmt::Display for Approvers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = self.roles.iter().map(|it| format!("role {it}"));
        let groups = self.groups.iter().map(|it| format!("group {it}"));
        let names = self.names.iter().map(Person::to_string);
        let entries: Vec<String> = roles.chain(groups).chain(names).collect();
        f.write_str(&entries.join(", "))
    }
}

impl Person {
    /// A user of the operating system.
    #[must_use]
    pub fn os_user(name: impl Into<String>) -> Person {
        Person::of("os_user", name)
    }

    /// A person that the embedding program vouches for.
    #[must_use]
    pub fn embedder(name: impl Into<String>) -> Person {
        Person::of("embedder", name)
    }

    /// A person that this issuer vouches for.
    ///
    /// ```
    /// use recount_session::Person;
    /// let ada = Person::of("https://login.example", "ada");
    /// assert_eq!("https://login.example:ada".parse(), Ok(ada));
    /// ```
    #[must_use]
    pub fn of(issuer: impl Into<String>, subject: impl Into<String>) -> Person {
        Person {
            issuer: issuer.into(),
            subject: subject.into(),
        }
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.issuer, self.subject)
    }
}

/// The text names a person without its issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareName(pub String);

impl fmt::Display for BareName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.0;
        write!(
            f,
            "expected an issuer and a name such as \"os_user:ada\", found {name:?}"
        )
    }
}

impl std::error::Error for BareName {}

/// Parses `issuer:name`.
///
/// After `os_user:` and `embedder:` the rest is the name. Another issuer may be a URL, so
/// it ends at the last colon. A text without an issuer is an error: it would match no person, or
/// the person of some other issuer.
impl FromStr for Person {
    type Err = BareName;

    fn from_str(text: &str) -> Result<Person, BareName> {
        let first = text.split_once(':');
        let first = first.filter(|(issuer, _)| ENTRY_POINTS.contains(issuer));
        first
            .or_else(|| text.rsplit_once(':'))
            .filter(|(issuer, name)| !issuer.is_empty() && !name.is_empty())
            .map(|(issuer, name)| Person::of(issuer, name))
            .ok_or_else(|| BareName(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    fn of_issuer(actor: Actor) -> Actor {
        actor.with_identity(Identity::of("https://login.example"))
    }

    fn with_role(actor: Actor) -> Actor {
        let issuer = Identity::of("https://login.example");
        actor.with_identity(issuer.with_role("finance").with_group("eu"))
    }

    #[test]
    fn roles_count_only_with_an_issuer() {
        for approvers in [Approvers::roles(["finance"]), Approvers::groups(["eu"])] {
            for actor in [
                Actor::os_user("ada"),
                Actor::embedder("ada"),
                Actor::token("ada"),
            ] {
                assert!(!approvers.include(&actor));
                assert!(approvers.include(&with_role(actor.clone())));
                assert!(!approvers.include(&of_issuer(actor)));
            }
            let program = with_role(Actor::token("ada")).as_program("nightly");
            assert!(!approvers.include(&program));
            assert!(!approvers.include(&with_role(Actor::unverified("ada"))));
        }
    }

    #[test]
    fn name_matches_only_with_its_issuer() {
        let ada = Approvers::names([Person::os_user("ada")]);
        assert!(ada.include(&Actor::os_user("ada")));
        assert!(ada.include(&Actor::os_user("ada").as_person()));
        // The token of the control socket proves the same user.
        assert!(ada.include(&Actor::token("ada")));
        for other in [
            Actor::os_user("Ada"),
            Actor::embedder("ada"),
            Actor::unverified("ada"),
            Actor::os_user("ada").as_program("--approve-all"),
            of_issuer(Actor::os_user("ada")),
        ] {
            assert!(!ada.include(&other), "{other:?}");
        }
        let issued = Approvers::names([Person::of("https://login.example", "ada")]);
        assert!(issued.include(&of_issuer(Actor::token("ada"))));
        assert!(!issued.include(&Actor::token("ada")));
    }

    #[test]
    fn empty_approvers_admit_no_person() {
        assert!(!Approvers::default().include(&with_role(Actor::token("ada"))));
        assert!(Approvers::default().is_empty());
    }

    #[test]
    fn bare_name_is_no_person() {
        for (text, person) in [
            ("os_user:ada", Some(Person::os_user("ada"))),
            ("os_user:a:b", Some(Person::os_user("a:b"))),
            ("embedder:ada", Some(Person::embedder("ada"))),
            (
                "https://a.example:8443:ada",
                Some(Person::of("https://a.example:8443", "ada")),
            ),
            ("ada", None),
            (":ada", None),
            ("os_user:", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), person, "{text}");
        }
    }

    #[test]
    fn misspelt_entry_is_an_error() {
        for text in [r#"{"role":["a"]}"#, r#"{"names":["ada"]}"#] {
            assert!(serde_json::from_str::<Approvers>(text).is_err(), "{text}");
        }
    }
}
