//! An address from its text, and the text that is shown of it.

use std::str::FromStr;

use tokio_postgres::Config;

use super::encryption::Encryption;
use super::journal_address::{Address, NotAnAddress};

/// The schema of an address that names none.
const SCHEMA: &str = "recount";

/// The maximum length of a schema's name, in bytes. A name of PostgreSQL has 63, and that of the
/// channel of notifications begins with `recount:`.
const NAME_LIMIT: usize = 55;

/// The parameters that are shown. A password may be a parameter, too, also with its name encoded.
const SHOWN: [&str; 17] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "port",
    "schema",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

/// The schemes of an address, without the colon.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// The part behind the scheme and its colon, if a text begins with one.
pub(super) fn behind_scheme(text: &str) -> Option<&str> {
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
        let (mut schema, mut mode, mut roots) = (SCHEMA, None, None);
        let (mut others, mut shown) = (Vec::new(), Vec::new());
        for parameter in parameters.split('&').filter(|it| !it.is_empty()) {
            match parameter.split_once('=') {
                Some(("schema", name)) => schema = name,
                Some(("sslmode", it)) => mode = Some(it),
                Some(("sslrootcert", it)) => roots = Some(it),
                Some(_) | None => others.push(parameter),
            }
            let name = parameter.split_once('=').map_or(parameter, |it| it.0);
            if SHOWN.contains(&name) {
                shown.push(parameter);
            }
        }
        check_characters(place, parameters)?;
        check_schema(schema)?;
        let encryption = Encryption::of(mode, roots).map_err(wrong)?;
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
        config.ssl_mode(encryption.mode());
        Ok(Self {
            config,
            schema: schema.to_owned(),
            encryption,
            shown: shown_as(place, &shown),
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

/// An address with these parameters, and without the password that the place may hold.
fn shown_as(place: &str, parameters: &[&str]) -> String {
    let mut shown = "postgres://".to_owned();
    let (user, rest) = place.split_once('@').unzip();
    if let Some(user) = user {
        shown.push_str(user.split_once(':').map_or(user, |it| it.0));
        shown.push('@');
    }
    shown.push_str(rest.unwrap_or(place));
    if !parameters.is_empty() {
        shown.push('?');
        shown.push_str(&parameters.join("&"));
    }
    shown
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
            ("postgres://u:p@h/d?sslmode=secret", "sslmode=verify-full"),
            (
                "postgres://u:secret@h/d?sslrootcert=ca",
                "sslmode=verify-full",
            ),
            ("postgres:///d?password=secret", "names no host"),
            ("postgres://u:secret@h:port/d", "port"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(told), "{refusal}");
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }

    /// Printed commands have this address, and are to work as they are.
    #[test]
    fn address_is_shown_as_one_without_its_password() {
        for (text, shown) in [
            ("postgres:///d?host=/run/postgresql", None),
            (
                "postgres://h:6432,i/d?target_session_attrs=read-write",
                None,
            ),
            ("postgres://u@h/d?sslmode=verify-full&schema=s", None),
            (
                "postgres://u:secret@h:5432/d",
                Some("postgres://u@h:5432/d"),
            ),
            (
                "postgres://h/d?user=u&password=secret",
                Some("postgres://h/d?user=u"),
            ),
            ("postgres://h/d?pass%77ord=secret", Some("postgres://h/d")),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown.unwrap_or(text));
            let again: Address = address.to_string().parse().unwrap();
            assert_eq!(again.config.get_hosts(), address.config.get_hosts());
            assert_eq!(again.encryption, address.encryption);
        }
    }

    #[test]
    fn schema_leaves_room_for_its_channel() {
        let longest = format!("postgres://h/d?schema={}", "s".repeat(NAME_LIMIT));
        let address: Address = longest.parse().unwrap();
        assert_eq!(address.channel().len(), 63);
        assert!(refusal(&format!("{longest}s")).contains("at most 55"));
    }
}
