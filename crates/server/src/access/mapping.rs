//! The mapping from values that another party vouches for to grants.

use std::collections::BTreeSet;

use super::role::Grant;

/// The value that stands for every identity.
const EVERY: &str = "*";

/// The maximum number of values of one kind that an identity has. Each is recorded with every
/// action, and the identity providers of the field send up to 200 groups.
const VALUES_MAX: usize = 256;

/// The maximum length of a value and of a name, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 256;

/// The grants for values of a claim or of a header.
///
/// A person with several of the values has all their grants. `*` stands for every identity that the
/// party vouches for.
///
/// ```
/// use recount_server::{Grant, Role, RoleMapping};
/// let acme = Grant::everywhere(Role::Approver).with_label("tenant", "acme");
/// let roles = RoleMapping::new()
///     .with("*", Grant::everywhere(Role::Viewer).of_agent("support"))
///     .with("finance", acme);
/// # let _ = roles;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleMapping {
    rules: Vec<(String, Grant)>,
}

impl RoleMapping {
    /// A mapping that grants nothing.
    #[must_use]
    pub fn new() -> RoleMapping {
        RoleMapping::default()
    }

    /// Adds a grant for a value.
    #[must_use]
    pub fn with(mut self, value: impl Into<String>, grant: Grant) -> RoleMapping {
        self.rules.push((value.into(), grant));
        self
    }

    /// The grants of an identity with these values.
    pub(super) fn grants(&self, values: &BTreeSet<String>) -> Vec<Grant> {
        let fits = |value: &String| value == EVERY || values.contains(value);
        let fitting = self.rules.iter().filter(|(value, _)| fits(value));
        fitting.map(|(_, grant)| grant.clone()).collect()
    }
}

/// The values of an identity, without blanks around them. `None`: there are too many of them, or
/// one is too long.
pub(super) fn values<'v>(given: impl IntoIterator<Item = &'v str>) -> Option<BTreeSet<String>> {
    let given = given.into_iter().map(str::trim).filter(|it| !it.is_empty());
    let values: BTreeSet<String> = given.map(str::to_owned).collect();
    let fits = values.len() <= VALUES_MAX && values.iter().all(|it| is_fit(it));
    fits.then_some(values)
}

/// True for a name or a value that can be recorded and shown.
pub(super) fn is_fit(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= VALUE_BYTES_MAX && !text.chars().any(char::is_control)
}

/// The issuer names a party that only this service, the system or an embedder can speak for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an issuer other than recount, os_user and embedder, found {found:?}")]
pub struct UnfitIssuer {
    found: String,
}

/// Checks the name of a party that vouches for identities.
pub(super) fn check_issuer(issuer: &str) -> Result<(), UnfitIssuer> {
    // The issuers of own tokens, and of the names that entry points know themselves.
    let is_own = ["recount", "os_user", "embedder"].contains(&issuer);
    match is_fit(issuer) && !is_own && issuer.trim() == issuer {
        true => Ok(()),
        false => Err(UnfitIssuer {
            found: issuer.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    #[test]
    fn grants_are_those_of_all_values() {
        let (viewer, admin) = (
            Grant::everywhere(Role::Viewer),
            Grant::everywhere(Role::Admin),
        );
        let roles = RoleMapping::new()
            .with("staff", viewer.clone())
            .with("root", admin.clone());
        let grants = |given: &[&str]| roles.grants(&values(given.iter().copied()).unwrap());
        assert_eq!(grants(&["Staff", "*", ""]), []);
        assert_eq!(grants(&[" staff"]), std::slice::from_ref(&viewer));
        assert_eq!(grants(&["root", "staff"]), [viewer.clone(), admin]);
        let everyone = RoleMapping::new().with("*", viewer.clone());
        assert_eq!(everyone.grants(&BTreeSet::new()), [viewer]);
    }

    #[test]
    fn unbounded_values_and_own_issuers_are_unfit() {
        let many: Vec<String> = (0..=VALUES_MAX).map(|it| it.to_string()).collect();
        assert_eq!(values(many.iter().map(String::as_str)), None);
        assert_eq!(values(["x".repeat(VALUE_BYTES_MAX + 1).as_str()]), None);
        assert_eq!(values(["a\u{1b}[2J"]), None);
        for own in ["recount", "os_user", "embedder", "", " sso"] {
            assert!(check_issuer(own).is_err(), "{own:?}");
        }
        assert!(check_issuer("https://login.example").is_ok());
    }
}
