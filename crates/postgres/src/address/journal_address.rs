//! The address of a journal: where its tables are, and how the connections are made.

use std::fmt;

use tokio_postgres::Config;

use super::encryption::Encryption;
use super::parsing::behind_scheme;

/// The address of a journal: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`.
///
/// All parameters of PostgreSQL's own addresses count; `schema` is ours and defaults to `recount`.
/// The connections are encrypted with `sslmode=verify-full`: the certificate of the server must be
/// for its host, and of a public authority or one of the PEM file `sslrootcert`. `require` and
/// `verify-ca` mean the same. Without `sslmode` they are not encrypted.
///
/// `Debug` and `Display` never show the password.
///
/// ```
/// use recount_postgres::Address;
///
/// let address: Address = "postgres://recount:secret@db.internal/journal?schema=eu".parse()?;
/// assert_eq!(address.to_string(), "postgres://recount@db.internal/journal?schema=eu");
/// assert!("postgres://db.internal/?schema=No%20Name".parse::<Address>().is_err());
/// # Ok::<(), recount_postgres::NotAnAddress>(())
/// ```
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) encryption: Encryption,
    /// The address without its password.
    pub(super) shown: String,
}

/// The error for a text that is no address of a journal. It does not repeat the text, which may
/// hold a password.
#[derive(Debug, thiserror::Error)]
#[error("the address of the database is wrong: {what}")]
pub struct NotAnAddress {
    pub(super) what: String,
}

impl Address {
    /// True if a text is meant as an address of a database, and not as a path: it begins with
    /// `postgres:` or `postgresql:`, in any case.
    ///
    /// ```
    /// use recount_postgres::Address;
    ///
    /// assert!(Address::is_meant("postgresql:///journal"));
    /// assert!(Address::is_meant("Postgres:/journal"));
    /// assert!(!Address::is_meant("./postgres:"));
    /// ```
    pub fn is_meant(text: &str) -> bool {
        behind_scheme(text).is_some()
    }

    /// True if the address has a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Sets the password of an address that has none, such as one from a file or a variable.
    ///
    /// ```
    /// use recount_postgres::Address;
    ///
    /// let address: Address = "postgres://recount@db.internal/journal".parse()?;
    /// let address = address.or_password("secret");
    /// assert!(address.has_password());
    /// assert_eq!(address.to_string(), "postgres://recount@db.internal/journal");
    /// # Ok::<(), recount_postgres::NotAnAddress>(())
    /// ```
    #[must_use]
    pub fn or_password(mut self, password: &str) -> Self {
        if !self.has_password() {
            self.config.password(password);
        }
        self
    }

    /// The name of the schema as a part of a statement.
    pub(crate) fn quoted_schema(&self) -> String {
        format!("\"{}\"", self.schema)
    }

    /// The channel of the notifications about this journal.
    pub(crate) fn channel(&self) -> String {
        format!("recount:{}", self.schema)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}
