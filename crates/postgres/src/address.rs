//! The address of a journal in a database.

use std::fmt;
use std::str::FromStr;

use tokio_postgres::Config;

/// The schema of an address that names none.
const SCHEMA: &str = "recount";

/// The maximum length of a schema's name, in bytes. A name of PostgreSQL has 63, and that of the
/// channel of notifications begins with `recount:`.
const NAME_LIMIT: usize = 55;

/// The schemes of an address, without the colon.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

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

/// The part behind the scheme and its colon, if a text begins with one.
fn behind_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let is_known = SCHEMES.iter().any(|it| scheme.eq_ignore_ascii_case(it));
    is_known.then_some(rest)
}

fn wrong(what: impl Into<String>) -> NotAnAddress {
    NotAnAddress { what: what.into() }
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let rest = behind_scheme(text).and_then(|it| it.strip_prefix("//"));
        let rest = rest.ok_or_else(|| {
            wrong(
                "expected postgres://USER@HOST/DATABASE, with two slashes; a directory of such a \
                 name is given as ./postgres:…",
            )
        })?;
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut schema, mut others) = (SCHEMA, Vec::new());
        for parameter in parameters.split('&').filter(|it| !it.is_empty()) {
            match parameter.strip_prefix("schema=") {
                Some(name) => schema = name,
                None => others.push(parameter),
            }
        }
        check_characters(place, parameters)?;
        check_schema(schema)?;
        // A parameter of the server's programs that this one cannot keep would be ignored.
        let modes = [
            "sslmode=require",
            "sslmode=verify-ca",
            "sslmode=verify-full",
        ];
        if others.iter().any(|it| modes.contains(it)) {
            return Err(wrong(
                "sslmode asks for TLS, and this program has none to the database: use a private \
                 network, a socket or a tunnel",
            ));
        }
        let mut own = format!("postgres://{place}");
        if !others.is_empty() {
            own.push('?');
            own.push_str(&others.join("&"));
        }
        // The cause names the parameter at fault, and no value.
        let mut config: Config = own.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            wrong(cause.unwrap_or_else(|| error.to_string()))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong(
                "it names no host: expected postgres://USER@HOST/DATABASE, or the directory of a \
                 socket as ?host=/run/postgresql",
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("recount");
        }
        Ok(Self {
            config,
            schema: schema.to_owned(),
        })
    }
}

/// Refuses characters that divide an address elsewhere than its writer meant.
///
/// A part of the password would then be taken for the host, and be shown.
fn check_characters(place: &str, parameters: &str) -> Result<(), NotAnAddress> {
    if place.matches('@').count() > 1 {
        return Err(wrong(
            "it has more than one @: within the user, the password or the database, write %40",
        ));
    }
    if parameters.contains('@') {
        return Err(wrong(
            "there is an @ behind the first ?: within a password, write %3F for ? and %40 for @",
        ));
    }
    Ok(())
}

fn check_schema(schema: &str) -> Result<(), NotAnAddress> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = schema.starts_with(|it: char| it.is_ascii_lowercase() || it == '_');
    if starts_well && schema.len() <= NAME_LIMIT && schema.bytes().all(is_plain) {
        return Ok(());
    }
    Err(wrong(format!(
        "expected a schema of at most {NAME_LIMIT} lower-case letters, digits and underscores, \
         found {schema:?}"
    )))
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<Address>().unwrap_err().to_string()
    }

    #[test]
    fn any_case_of_the_scheme_is_an_address() {
        for text in ["Postgres://u@h/d", "POSTGRESQL://u@h/d"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), "postgres://u@h/d");
        }
    }

    #[test]
    fn wrong_address_is_refused_without_its_password() {
        for (text, told) in [
            ("postgres:/u:secret@h/d", "two slashes"),
            ("postgresql:u:secret", "two slashes"),
            ("Postgres:", "two slashes"),
            ("postgres://u:p@secret@h/d", "%40"),
            ("postgres://u:p@secret/d@h/d", "%40"),
            ("postgres://u:1?secret@h/d", "%3F"),
            ("postgres://u:secret@h/d?sslmode=require", "TLS"),
            ("postgres://u:secret@h/d?sslmode=verify-full", "TLS"),
            ("postgres:///d?password=secret", "names no host"),
            ("postgres://u:secret@h:port/d", "port"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(told), "{refusal}");
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn place_without_a_host_may_name_a_socket() {
        let address: Address = "postgres:///d?host=/run/postgresql".parse().unwrap();
        assert_eq!(address.to_string(), "postgres:///run/postgresql/d");
    }

    #[test]
    fn schema_leaves_room_for_its_channel() {
        let longest = format!("postgres://h/d?schema={}", "s".repeat(NAME_LIMIT));
        let address: Address = longest.parse().unwrap();
        assert_eq!(address.channel().len(), 63);
        assert!(refusal(&format!("{longest}s")).contains("at most 55"));
    }
}
