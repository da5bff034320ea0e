//! The variables of the environment that override the file.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::gateway;
use super::mistake::{Mistake, Place};
use super::reading::ADDRESS;
use super::section::{Given, nearest};
use super::settings::{KeySettings, Settings};
use crate::failures::without_password;
use crate::journal::Location;
use recount_telling::duration;

/// The beginning of every variable.
const PREFIX: &str = "RECOUNT_SERVE_";

/// The variable with the name of the file.
pub(super) const FILE: &str = "RECOUNT_SERVE_CONFIG";

/// Sets a value, or returns the expected form, in words.
pub(super) type Set = fn(&mut Settings, Variable) -> Result<(), String>;

/// The variables other than [`FILE`] and those of a gateway.
pub(super) const VARIABLES: [(&str, Set); 21] = [
    ("RECOUNT_SERVE_LISTEN", |to, it| {
        to.listen = Some(it.parsed::<SocketAddr>(ADDRESS)?);
        Ok(())
    }),
    ("RECOUNT_SERVE_JOURNAL", |to, it| {
        to.journal = Some(it.location()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_NODE", |to, it| {
        to.postgres.node = Some(it.0);
        Ok(())
    }),
    ("RECOUNT_SERVE_STATE", |to, it| {
        to.postgres.state = Some(it.path());
        Ok(())
    }),
    ("RECOUNT_SERVE_KEYS", |to, it| {
        let master_key_file = to.keys.take().and_then(|it| it.master_key_file);
        to.keys = Some(KeySettings {
            store: it.path(),
            master_key_file,
        });
        Ok(())
    }),
    ("RECOUNT_SERVE_TLS_CERTIFICATE", |to, it| {
        to.tls.certificate = Some(it.path());
        Ok(())
    }),
    ("RECOUNT_SERVE_TLS_KEY", |to, it| {
        to.tls.key = Some(it.path());
        Ok(())
    }),
    ("RECOUNT_SERVE_TOKENS", |to, it| {
        to.access.tokens = Some(it.path());
        Ok(())
    }),
    ("RECOUNT_SERVE_BEHIND_PROXY", |to, it| {
        to.access.behind_proxy = Some(it.parsed("true or false")?);
        Ok(())
    }),
    ("RECOUNT_SERVE_PUBLIC_URL", |to, it| {
        to.access.public_url = Some(it.text());
        Ok(())
    }),
    ("RECOUNT_SERVE_BODY_BYTES", |to, it| {
        to.limits.body_bytes = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_CONNECTIONS", |to, it| {
        to.limits.connections = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_RUNNING_MAX", |to, it| {
        to.limits.running_max = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GRACE", |to, it| {
        to.limits.grace = Some(it.duration()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_HEAD_TIME", |to, it| {
        to.limits.head_time = Some(it.duration()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_BODY_TIME", |to, it| {
        to.limits.body_time = Some(it.duration()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_REQUESTS_PER_SECOND", |to, it| {
        to.limits.requests_per_second = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_FAILURES_PER_MINUTE", |to, it| {
        to.limits.failures_per_minute = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_STREAMS", |to, it| {
        to.limits.streams = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_WAITING", |to, it| {
        to.limits.waiting = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_MASTER_KEY_FILE", |to, it| {
        let Some(keys) = &mut to.keys else {
            let expected = "a key store in RECOUNT_SERVE_KEYS or [keys] for this master key";
            return Err(expected.to_owned());
        };
        keys.master_key_file = Some(it.path());
        Ok(())
    }),
];

/// A variable that is set.
pub(super) struct Variable(Given<String>);

impl Variable {
    pub(super) fn with<T>(self, value: T) -> Given<T> {
        Given {
            value,
            place: self.0.place,
            field: self.0.field,
        }
    }

    /// A path, relative to the current directory.
    pub(super) fn path(self) -> Given<PathBuf> {
        let path = PathBuf::from(&self.0.value);
        self.with(path)
    }

    /// A path, relative to the current directory, or an address.
    fn location(self) -> Result<Given<Location>, String> {
        let read = Location::read(OsStr::new(&self.0.value));
        let read = read.map_err(|it| format!("a path or an address ({})", it.what))?;
        Ok(self.with(read))
    }

    pub(super) fn parsed<T: std::str::FromStr>(
        self,
        expected: &'static str,
    ) -> Result<Given<T>, &'static str> {
        let read = self.0.value.trim().parse().map_err(|_| expected)?;
        Ok(self.with(read))
    }

    fn duration(self) -> Result<Given<Duration>, &'static str> {
        let read = duration::read(&self.0.value).ok_or(duration::EXPECTED)?;
        Ok(self.with(read))
    }

    /// A time longer than 0.
    pub(super) fn positive(self) -> Result<Given<Duration>, &'static str> {
        let read = self.duration()?;
        let is_positive = !read.value.is_zero();
        is_positive.then_some(read).ok_or("a time longer than 0")
    }

    pub(super) fn text(self) -> Given<String> {
        self.0
    }

    pub(super) fn number(self) -> Result<Given<u32>, &'static str> {
        let expected = "a whole number from 1 on";
        let read = self.parsed::<u32>(expected)?;
        Some(read).filter(|it| it.value > 0).ok_or(expected)
    }
}

/// Applies the variables. Returns every mistake; an unknown name is one.
pub(super) fn apply(
    settings: &mut Settings,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Vec<Mistake> {
    let given = variables.into_iter();
    let given: Vec<_> = given.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    let mut mistakes = Vec::new();
    let all = || VARIABLES.iter().chain(&gateway::VARIABLES);
    let known = all().map(|(name, _)| *name).chain([FILE]);
    for (name, _) in &given {
        if !known.clone().any(|it| it == name) {
            let what = match nearest(name, known.clone()) {
                Some(near) => format!("unknown variable; did you mean {near}?"),
                None => "unknown variable; docs/serve.md lists them".to_owned(),
            };
            mistakes.push(Place::named(name).mistake("", what));
        }
    }
    for (name, set) in all() {
        let value = given.iter().find(|(it, _)| it == name);
        let Some((_, value)) = value.filter(|(_, it)| !it.is_empty()) else {
            continue;
        };
        let place = Place::named(name);
        let variable = Variable(Given {
            value: value.clone(),
            place: place.clone(),
            field: String::new(),
        });
        if let Err(expected) = set(settings, variable) {
            let found = without_password(value);
            let what = format!("expected {expected}, found {found:?}");
            mistakes.push(place.mistake("", what));
        }
    }
    mistakes
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn applied(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let owned = variables
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let mistakes = apply(&mut settings, owned);
        (settings, mistakes.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_variable_is_applied() {
        let (settings, mistakes) = applied(&[
            ("RECOUNT_SERVE_LISTEN", "[::1]:9"),
            ("RECOUNT_SERVE_MASTER_KEY_FILE", "m"),
            ("RECOUNT_SERVE_KEYS", "k"),
            ("RECOUNT_SERVE_BEHIND_PROXY", "true"),
            ("RECOUNT_SERVE_GRACE", "5s"),
            ("RECOUNT_SERVE_CONNECTIONS", "7"),
            ("RECOUNT_LOG", "info"),
            ("RECOUNT_SERVE_JOURNAL", ""),
        ]);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        assert_eq!(settings.listen.unwrap().value.port(), 9);
        let keys = settings.keys.unwrap();
        assert_eq!(keys.master_key_file.unwrap().value, PathBuf::from("m"));
        assert!(settings.access.behind_proxy.unwrap().value);
        assert_eq!(settings.limits.connections.unwrap().value, 7);
        assert!(settings.journal.is_none(), "an empty variable is not set");
    }

    #[test]
    fn unknown_and_unfit_variables_are_mistakes() {
        let (_, mistakes) = applied(&[
            ("RECOUNT_SERVE_LISTN", "127.0.0.1:1"),
            ("RECOUNT_SERVE_LISTEN", "nowhere"),
            ("RECOUNT_SERVE_CONNECTIONS", "0"),
        ]);
        assert_eq!(
            mistakes,
            [
                "RECOUNT_SERVE_LISTN: unknown variable; did you mean RECOUNT_SERVE_LISTEN?",
                "RECOUNT_SERVE_LISTEN: expected an address and a port such as \
                 \"127.0.0.1:7878\", found \"nowhere\"",
                "RECOUNT_SERVE_CONNECTIONS: expected a whole number from 1 on, found \"0\"",
            ]
        );
    }

    #[test]
    fn key_of_a_variable_counts_in_place_of_that_of_the_file() {
        let kinds = |variables: &[(&str, &str)]| {
            let mut settings = Settings::default();
            let gateway = settings.gateway.get_or_insert_default();
            gateway.vendor_key_env = Some(Given::option("the file", "KEY".to_owned()));
            let owned = variables.iter();
            let owned = owned.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            assert!(apply(&mut settings, owned).is_empty());
            let gateway = settings.gateway.unwrap();
            let env = gateway.vendor_key_env.map(|it| it.value);
            (env, gateway.vendor_key_file.is_some())
        };
        let file = ("RECOUNT_SERVE_GATEWAY_VENDOR_KEY_FILE", "key");
        let env = ("RECOUNT_SERVE_GATEWAY_VENDOR_KEY_ENV", "OTHER");
        assert_eq!(kinds(&[file]), (None, true));
        assert_eq!(kinds(&[env]), (Some("OTHER".to_owned()), false));
        assert_eq!(kinds(&[env, file]), (Some("OTHER".to_owned()), true));
    }

    #[test]
    fn mistake_about_an_address_has_no_password() {
        let address = "postgres://u:secret@h/d?schema=No";
        let (_, mistakes) = applied(&[("RECOUNT_SERVE_JOURNAL", address)]);
        let [mistake] = mistakes.as_slice() else {
            unreachable!("{mistakes:?}");
        };
        assert!(mistake.starts_with("RECOUNT_SERVE_JOURNAL: expected a path or an address ("));
        assert!(!mistake.contains("secret"), "{mistake}");
    }
}
