//! The address of a journal in a database.

use std::fmt;
use std::str::FromStr;

use tokio_postgres::Config;

/// The schema of an address that names none.
const SCHEMA: &str = "recount";

/// The maximum length of a schema's name, in bytes, as PostgreSQL sets it.
const NAME_LIMIT: usize = 63;

/// The address of a journal: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`.
///
/// All parameters of PostgreSQL's own addresses count; `schema` is ours and defaults to `recount`.
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
}

/// The error for a text that is no address of a journal. It does not repeat the text, which may
/// hold a password.
#[derive(Debug, thiserror::Error)]
#[error("the address of the database is wrong: {what}")]
pub struct NotAnAddress {
    what: String,
}

impl Address {
    /// True if a text is meant as an address of a database, and not as a path.
    ///
    /// ```
    /// use recount_postgres::Address;
    ///
    /// assert!(Address::is_meant("postgresql:///journal"));
    /// assert!(!Address::is_meant("./postgres"));
    /// ```
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
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

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let wrong = |what: String| NotAnAddress { what };
        if !Self::is_meant(text) {
            let what = "expected postgres://USER@HOST/DATABASE".to_owned();
            return Err(wrong(what));
        }
        let (place, parameters) = text.split_once('?').unwrap_or((text, ""));
        let mut schema = SCHEMA.to_owned();
        let mut others = Vec::new();
        for parameter in parameters.split('&').filter(|it| !it.is_empty()) {
            match parameter.strip_prefix("schema=") {
                Some(name) => name.clone_into(&mut schema),
                None => others.push(parameter),
            }
        }
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let starts_well = schema.starts_with(|it: char| it.is_ascii_lowercase() || it == '_');
        if !starts_well || schema.len() > NAME_LIMIT || !schema.bytes().all(is_plain) {
            let what = format!(
                "the schema {schema:?} is not of lower-case letters, digits and underscores, at \
                 most {NAME_LIMIT}"
            );
            return Err(wrong(what));
        }
        let mut own = place.to_owned();
        if !others.is_empty() {
            own.push('?');
            own.push_str(&others.join("&"));
        }
        // The cause names the parameter at fault, and no value.
        let mut config: Config = own.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            wrong(cause.unwrap_or_else(|| error.to_string()))
        })?;
        if config.get_application_name().is_none() {
            config.application_name("recount");
        }
        Ok(Self { config, schema })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let mut separator = "";
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            f.write_str(separator)?;
            separator = ",";
            match host {
                tokio_postgres::config::Host::Tcp(name) => f.write_str(name)?,
                #[cfg(unix)]
                tokio_postgres::config::Host::Unix(path) => write!(f, "{}", path.display())?,
            }
            if let Some(port) = ports.get(at).or(ports.first()).filter(|it| **it != 5432) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())?;
        if self.schema != SCHEMA {
            write!(f, "?schema={}", self.schema)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}
