//! The address of a journal: where its tables are, and how the connections are made.

use std::fmt;

use tokio_postgres::Config;

use super::encryption::Encryption;
use super::parsing::{behind_scheme, has_socket, wrong};

/// The address of a journal: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`.
///
/// The parameters are those of PostgreSQL's own addresses that docs/postgres.md lists; an unknown
/// one is refused. `schema` is ours and defaults to `recount`. The connections are encrypted with
/// `sslmode=verify-full`: the certificate of the server must be for its host, and of a public
/// authority or one of the PEM file `sslrootcert`, an absolute path. `require` and `verify-ca` mean
/// the same. Without `sslmode` they are not encrypted.
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

    /// Sets `sslmode`, and the path of `sslrootcert`, of an address without `sslmode`, such as
    /// those of variables. A socket stays as it is.
    ///
    /// # Errors
    /// As for the parameters in an address.
    ///
    /// ```
    /// use recount_postgres::Address;
    ///
    /// let address: Address = "postgres://recount@db.internal/journal".parse()?;
    /// assert!(!address.is_encrypted());
    /// assert!(address.clone().or_ssl_mode("prefer", None).is_err());
    /// assert!(address.or_ssl_mode("verify-full", None)?.is_encrypted());
    /// let local: Address = "postgres://recount@localhost/journal?sslmode=disable".parse()?;
    /// assert!(!local.or_ssl_mode("verify-full", None)?.is_encrypted());
    /// # Ok::<(), recount_postgres::NotAnAddress>(())
    /// ```
    pub fn or_ssl_mode(mut self, mode: &str, roots: Option<&str>) -> Result<Self, NotAnAddress> {
        let encryption = Encryption::of(Some(mode), roots).map_err(wrong)?;
        if self.encryption == Encryption::Unset && !has_socket(&self.config) {
            self.config.ssl_mode(encryption.mode());
            self.encryption = encryption;
        }
        Ok(self)
    }

    /// True if the connections are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.encryption.is_on()
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
