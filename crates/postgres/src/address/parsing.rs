//! An address from its text, and the text that is shown of it.

use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::encryption::Encryption;
use super::journal_address::{Address, NotAnAddress};

/// The schema of an address that names none.
const SCHEMA: &str = "recount";

/// The maximum length of a schema's name, in bytes. A name of PostgreSQL has 63, and that of the
/// channel of notifications begins with `recount:`.
const NAME_LIMIT: usize = 55;

/// The parameters that are shown.
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

/// The parameters that are not shown: a password, and settings that may hold one.
const HIDDEN: [&str; 2] = ["options", "password"];

/// The schemes of an address, without the colon.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// A parameter, with its name and its value decoded.
struct Parameter<'t> {
    name: String,
    value: String,
    written: &'t str,
}

/// The part behind the scheme and its colon, if a text begins with one.
pub(super) fn behind_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let is_known = SCHEMES.iter().any(|it| scheme.eq_ignore_ascii_case(it));
    is_known.then_some(rest)
}

pub(super) fn wrong(what: impl Into<String>) -> NotAnAddress {
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
        check_characters(place, parameters)?;
        let parameters = read(parameters)?;
        let value = |name: &str| {
            let found = parameters.iter().find(|it| it.name == name);
            found.map(|it| it.value.as_str())
        };
        let schema = value("schema").unwrap_or(SCHEMA);
        check_schema(schema)?;
        let encryption = Encryption::of(value("sslmode"), value("sslrootcert")).map_err(wrong)?;
        let ours = ["schema", "sslmode", "sslrootcert"];
        let others = parameters
            .iter()
            .filter(|it| !ours.contains(&it.name.as_str()));
        let own = joined(place, others);
        // The cause names the parameter at fault, and no value.
        let mut config: Config = own.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            wrong(cause.unwrap_or_else(|| error.to_string()))
        })?;
        check_hosts(&config, &encryption)?;
        if config.get_application_name().is_none() {
            config.application_name("recount");
        }
        config.ssl_mode(encryption.mode());
        let shown = parameters
            .iter()
            .filter(|it| SHOWN.contains(&it.name.as_str()));
        Ok(Self {
            config,
            schema: schema.to_owned(),
            encryption,
            shown: joined(&without_password(place), shown),
        })
    }
}

/// Refuses characters that divide an address elsewhere than its writer meant.
///
/// A part of the password would then be taken for the host, or for a value, and be shown.
fn check_characters(place: &str, parameters: &str) -> Result<(), NotAnAddress> {
    if place.matches('@').count() > 1 {
        return Err(wrong(
            "it has more than one @: within the user, the password or the database, write %40",
        ));
    }
    let place = place.to_ascii_lowercase();
    if !place.contains('@') && (place.contains("%40") || place.contains("%3a")) {
        return Err(wrong(
            "its host has an encoded @ or colon: those before the host are written as they are",
        ));
    }
    if parameters.contains('@') {
        return Err(wrong(
            "there is an @ behind the first ?: within a password, write %3F for ? and %40 for @",
        ));
    }
    if parameters.contains(['?', ';']) {
        return Err(wrong(
            "its parameters have a ? or ; in them: parameters are divided by &, and within a \
             value write %3F or %3B",
        ));
    }
    Ok(())
}

/// Reads the parameters. A name or a value that is not known may be a part of a password, so the
/// error does not repeat it.
fn read(text: &str) -> Result<Vec<Parameter<'_>>, NotAnAddress> {
    let mut parameters: Vec<Parameter<'_>> = Vec::new();
    for written in text.split('&').filter(|it| !it.is_empty()) {
        let divided = written.split_once('=');
        let (name, value) = divided.ok_or_else(|| wrong("expected NAME=VALUE, found no ="))?;
        let (name, value) = (decoded(name)?, decoded(value)?);
        let mut known = SHOWN.iter().chain(&HIDDEN);
        if !known.any(|it| *it == name) {
            let known: Vec<&str> = SHOWN.iter().chain(&HIDDEN).copied().collect();
            let known = known.join(", ");
            return Err(wrong(format!(
                "it has an unknown parameter: expected {known}"
            )));
        }
        if parameters.iter().any(|it| it.name == name) {
            return Err(wrong(format!("{name} stands there twice")));
        }
        parameters.push(Parameter {
            name,
            value,
            written,
        });
    }
    Ok(parameters)
}

fn decoded(text: &str) -> Result<String, NotAnAddress> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| wrong("a parameter is not UTF-8"))?;
    Ok(decoded.into_owned())
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

fn check_hosts(config: &Config, encryption: &Encryption) -> Result<(), NotAnAddress> {
    let hosts = config.get_hosts();
    if hosts.is_empty() && config.get_hostaddrs().is_empty() {
        return Err(wrong(
            "it names no host: expected postgres://USER@HOST/DATABASE, or the directory of a \
             socket as ?host=/run/postgresql",
        ));
    }
    if !encryption.is_on() {
        return Ok(());
    }
    if hosts.is_empty() {
        return Err(wrong(
            "hostaddr alone has no certificate: name the host, too, that it is for",
        ));
    }
    if has_socket(config) {
        return Err(wrong(
            "a socket is not encrypted: leave out sslmode, which is for a host",
        ));
    }
    Ok(())
}

/// True if one of the hosts is the directory of a socket.
pub(super) fn has_socket(config: &Config) -> bool {
    config.get_hosts().iter().any(|host| match host {
        Host::Tcp(_) => false,
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// An address with these parameters, as they were written.
fn joined<'p>(place: &str, parameters: impl Iterator<Item = &'p Parameter<'p>>) -> String {
    let mut text = format!("postgres://{place}");
    for (at, parameter) in parameters.enumerate() {
        text.push(if at == 0 { '?' } else { '&' });
        text.push_str(parameter.written);
    }
    text
}

/// The place without the password that it may hold.
fn without_password(place: &str) -> String {
    let Some((user, host)) = place.split_once('@') else {
        return place.to_owned();
    };
    let user = user.split_once(':').map_or(user, |it| it.0);
    format!("{user}@{host}")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio_postgres::config::SslMode;

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

    #[test]
    fn encoded_name_asks_for_encryption_too() {
        for text in [
            "postgres://u@h/d?sslmod%65=require",
            "postgres://u@h/d?%73slmode=verify%2Dfull",
        ] {
            let address: Address = text.parse().unwrap();
            assert!(address.encryption.is_on(), "{text}");
            assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        }
    }
}
