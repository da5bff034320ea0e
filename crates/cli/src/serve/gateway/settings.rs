//! The settings of the gateway out of the configuration, and their mistakes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use axum::http::Uri;
use recount_gateway::{Credentials, Settings, Upstream, VendorKey};

use crate::config::{Config, CredentialsGiven, GatewaySettings, Given, Mistake};
use crate::serve::secret_file::private_text;

/// The ending of the index of a gateway, beside the journal.
const INDEX: &str = ".gateway";

/// The mistakes of `[gateway]`.
pub(in crate::serve) fn mistakes(config: &Config) -> Vec<Mistake> {
    let mut mistakes = config.gateway_mistakes();
    if let Some(given) = &config.settings.gateway {
        mistakes.extend(upstream(given).err());
        // The check of the section reports that there is no key at all.
        let has_key = given.vendor_key_env.is_some() || given.vendor_key_file.is_some();
        mistakes.extend(credentials(given).err().filter(|_| has_key));
    }
    mistakes
}

/// The settings of the gateway, if there is one.
pub(super) fn of(config: &Config) -> Result<Option<Settings>, Mistake> {
    let Some(given) = &config.settings.gateway else {
        return Ok(None);
    };
    let mut settings = Settings {
        upstream: upstream(given)?,
        credentials: credentials(given)?,
        index: Some(index(&config.local())),
        ..Settings::of_agent(given.agent_name())
    };
    settings.pass_observed = given.pass_observed.as_ref().is_some_and(|it| it.value);
    settings.dry_run = given.dry_run.as_ref().is_some_and(|it| it.value);
    if let Some(count) = &given.connections {
        settings.connections = usize::try_from(count.value).unwrap_or(usize::MAX);
    }
    if let Some(time) = &given.keep {
        settings.keep = time.value;
    }
    Ok(Some(settings))
}

/// The file of the index: beside the journal, whose directory has nothing of others.
fn index(journal: &Path) -> PathBuf {
    let mut path = OsString::from(journal);
    path.push(INDEX);
    path.into()
}

fn upstream(given: &GatewaySettings) -> Result<Upstream, Mistake> {
    let Some(url) = &given.upstream else {
        return Ok(Upstream::Vendor);
    };
    let expected = "expected the ws, wss, http or https URL of a service";
    let read = url.value.parse::<Uri>();
    let read = read.map_err(|error| url.mistake(format!("{expected}: {error}")))?;
    let Some(host) = read.host() else {
        return Err(url.mistake(format!("{expected}, found one without a host")));
    };
    match read.scheme_str() {
        Some("wss" | "https") => {}
        Some("ws" | "http") if is_loopback(host) => {}
        Some("ws" | "http") => {
            let what = "expected wss or https, because the vendor's key is sent to this host";
            return Err(url.mistake(what));
        }
        Some(scheme) => {
            return Err(url.mistake(format!("{expected}, found the scheme {scheme:?}")));
        }
        None => {
            let what = format!("{expected}, found one without a scheme: {:?}", url.value);
            return Err(url.mistake(what));
        }
    }
    if read.query().is_some() {
        return Err(url.mistake("expected no query: that of the client is sent"));
    }
    if is_loopback(host) && is_own_port(given, &read) {
        let what = "expected the address of a service, found one on which the gateway listens";
        return Err(url.mistake(what));
    }
    Ok(Upstream::Url(url.value.clone()))
}

/// True if the host is this machine.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

/// True if the gateway listens on the port of this URL. Its clients would be relayed to itself.
fn is_own_port(given: &GatewaySettings, url: &Uri) -> bool {
    let is_encrypted = matches!(url.scheme_str(), Some("wss" | "https"));
    let port = url
        .port_u16()
        .unwrap_or(if is_encrypted { 443 } else { 80 });
    let encrypted = given.tls_listen.as_ref().map(|it| it.value);
    let mut own = [Some(given.plain()), encrypted].into_iter().flatten();
    own.any(|it| it.port() == port)
}

fn credentials(given: &GatewaySettings) -> Result<Credentials, Mistake> {
    match given.credentials.as_ref().map(|it| it.value) {
        None | Some(CredentialsGiven::PassThrough) => Ok(Credentials::PassThrough),
        Some(CredentialsGiven::Tokens) => vendor_key(given),
    }
}

fn vendor_key(given: &GatewaySettings) -> Result<Credentials, Mistake> {
    let (text, place) = match (&given.vendor_key_env, &given.vendor_key_file) {
        (Some(variable), _) => {
            let text = std::env::var(&variable.value);
            let found_none = |_| {
                let name = &variable.value;
                variable.mistake(format!(
                    "expected the vendor's key in the variable {name}, which is not set"
                ))
            };
            (text.map_err(found_none)?, at(variable))
        }
        (None, Some(file)) => (private_text(file, "use the key")?, at(file)),
        // The check of the section has reported it.
        (None, None) => (
            String::new(),
            given.credentials.as_ref().map_or_else(no_place, at),
        ),
    };
    let vendor_key = VendorKey::new(&text);
    let is_header = |c: char| c.is_ascii_graphic();
    match vendor_key.expose() {
        "" => Err(place.mistake("expected the vendor's key, found none")),
        key if !key.chars().all(is_header) => {
            Err(place.mistake("expected a key without spaces and control characters"))
        }
        _ => Ok(Credentials::Tokens { vendor_key }),
    }
}

fn at<T>(given: &Given<T>) -> Given<()> {
    Given {
        value: (),
        place: given.place.clone(),
        field: given.field.clone(),
    }
}

fn no_place() -> Given<()> {
    Given::option("[gateway]", ())
}
