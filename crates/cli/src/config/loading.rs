//! The configuration of a command: the file, if there is one, with the environment over it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment;
use super::mistake::{self, Mistake, Place};
use super::reading;
use super::section::Given;
use super::settings::Settings;
use crate::failures::{Exit, Failure};
use crate::journal::Location;
use recount_server::Access;
use recount_telling::shown;
use recount_text::files::given_file;

/// The file that is read without `--config`, if it exists.
pub(crate) const FILE: &str = "recount.toml";

/// The maximum length of the file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The port of a service.
const PORT: u16 = 7878;

/// The default directory of the journal.
const JOURNAL: &str = "recount-journal";

/// The default directory for the state of a node.
const STATE: &str = "recount-state";

/// The name in the directory of the state that stands for the journal.
const LOCAL: &str = "journal";

/// The default file of the tokens.
const TOKENS: &str = "recount-tokens.json";

/// The default maximum number of open connections. A process has 1,024 files by default.
const CONNECTIONS: u32 = 512;

/// The default maximum time for the head of a request, and for an idle connection. A client that
/// sends one byte after another holds a connection no longer.
const HEAD_TIME: Duration = Duration::from_secs(20);

/// The default time for running work at the end. Supervisors wait for 30 s or longer.
const GRACE: Duration = Duration::from_secs(20);

/// A configuration.
pub(crate) struct Config {
    pub(crate) settings: Settings,
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The mistakes of the file and of the environment.
    pub(crate) mistakes: Vec<Mistake>,
}

impl Config {
    /// Reads the file, and the variables of the environment over it. Without `given` and without
    /// `RECOUNT_SERVE_CONFIG` it is `recount.toml`, which may be missing.
    ///
    /// # Errors
    /// If the file cannot be read. Mistakes in it are no error.
    pub(crate) fn read(given: Option<&Path>) -> Result<Config, Failure> {
        let variable = std::env::var_os(environment::FILE).filter(|it| !it.is_empty());
        let named = given.map(Path::to_owned).or(variable.map(PathBuf::from));
        let file = named.or_else(|| {
            let usual = Path::new(FILE);
            usual.symlink_metadata().is_ok().then(|| usual.to_owned())
        });
        let (mut settings, mut mistakes) = match &file {
            Some(file) => reading::read(&text_of(file)?, file),
            None => (Settings::default(), Vec::new()),
        };
        // A variable that is no text cannot be meant.
        let variables = std::env::vars_os();
        let texts = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        mistakes.extend(environment::apply(&mut settings, texts));
        settings.complete_gateway();
        Ok(Config {
            settings,
            file,
            mistakes,
        })
    }

    /// The name of the file for messages.
    pub(crate) fn name(&self) -> &Path {
        self.file
            .as_deref()
            .unwrap_or(Path::new("the configuration"))
    }

    /// A mistake of the configuration as a whole.
    pub(crate) fn mistake(&self, what: impl Into<String>) -> Mistake {
        Place::file(self.name()).mistake("", what)
    }

    /// Reports the mistakes so far.
    ///
    /// # Errors
    /// If there are mistakes.
    pub(crate) fn sound(&self, more: Vec<Mistake>) -> Result<(), Failure> {
        let mut all = self.mistakes.clone();
        all.extend(more);
        all.sort();
        all.dedup();
        match all.is_empty() {
            true => Ok(()),
            false => Err(mistake::wrong(self.name(), &all)),
        }
    }

    /// The address to listen on.
    pub(crate) fn listen(&self) -> Given<SocketAddr> {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        self.settings.listen.clone().unwrap_or_else(|| Given {
            value: default,
            place: Place::named("the default address"),
            field: String::new(),
        })
    }

    /// The location of the journal.
    pub(crate) fn journal(&self) -> Location {
        let given = self.settings.journal.as_ref();
        given.map_or_else(
            || Location::Path(self.beside(JOURNAL)),
            |it| it.value.clone(),
        )
    }

    /// The path in which, and beside which, is what belongs to the journal and to this machine
    /// alone: the directory of the journal. With a database it is a directory in that of the state.
    pub(crate) fn local(&self) -> PathBuf {
        match self.journal() {
            Location::Path(directory) => directory,
            Location::Database(_) => self.state().join(LOCAL),
        }
    }

    /// The directory for the state of a node.
    pub(crate) fn state(&self) -> PathBuf {
        let given = self.settings.postgres.state.as_ref();
        given.map_or_else(|| self.beside(STATE), |it| it.value.clone())
    }

    /// The file of the tokens.
    pub(crate) fn tokens(&self) -> PathBuf {
        let given = self.settings.access.tokens.as_ref();
        given.map_or_else(|| self.beside(TOKENS), |it| it.value.clone())
    }

    pub(crate) fn connections(&self) -> u32 {
        let given = self.settings.limits.connections.as_ref();
        given.map_or(CONNECTIONS, |it| it.value)
    }

    pub(crate) fn head_time(&self) -> Duration {
        let given = self.settings.limits.head_time.as_ref();
        given.map_or(HEAD_TIME, |it| it.value)
    }

    pub(crate) fn grace(&self) -> Duration {
        self.settings
            .limits
            .grace
            .as_ref()
            .map_or(GRACE, |it| it.value)
    }

    pub(crate) fn is_behind_proxy(&self) -> bool {
        let given = self.settings.access.behind_proxy.as_ref();
        given.is_some_and(|it| it.value)
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.settings.tls.is_given()
    }

    /// A path beside the file.
    fn beside(&self, name: &str) -> PathBuf {
        let directory = self.file.as_deref().and_then(Path::parent);
        directory.unwrap_or(Path::new("")).join(name)
    }

    /// The mistakes of `[gateway]`, as far as the settings alone show them.
    pub(crate) fn gateway_mistakes(&self) -> Vec<Mistake> {
        self.settings.gateway_mistakes(self.listen().value)
    }

    /// The mistakes of the address and the URL by which clients reach the service.
    pub(crate) fn unreachable(&self) -> Vec<Mistake> {
        let url = self.settings.access.public_url.as_ref();
        let unfit = url.and_then(|url| {
            let checked = Access::none().with_public_url(&url.value);
            checked.err().map(|error| url.mistake(error.to_string()))
        });
        let mut mistakes: Vec<Mistake> = unfit.into_iter().collect();
        let listen = self.listen();
        if listen.value.ip().is_loopback() {
            return mistakes;
        }
        let needs = |what: &str| {
            let address = listen.value;
            listen.mistake(format!("other machines reach {address}, so {what}"))
        };
        let access = &self.settings.access;
        if access.tokens.is_none() && access.jwt.is_none() {
            mistakes.push(needs("tokens must be set in [access]"));
        }
        if !self.has_tls() && !self.is_behind_proxy() {
            mistakes.push(needs(
                "[tls] must have a certificate, or [access] must say behind_proxy = true",
            ));
        }
        if url.is_none() {
            mistakes.push(needs(
                "public_url must be set in [access]: requests for other names are refused",
            ));
        }
        mistakes
    }
}

fn text_of(file: &Path) -> Result<String, Failure> {
    given_file::text(file, FILE_BYTES_MAX).map_err(|error| {
        let doing = format!("read the configuration in {}", shown(file));
        Failure::io(doing, &error).exit(Exit::Usage)
    })
}
