//! A journal in a PostgreSQL database.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use recount_journal::{Error, Journal};
use recount_postgres::{Address, NotAnAddress, Options, PostgresJournal};

use crate::failures::{Exit, Failure};

/// The variable with settings of the server under which acknowledged appends may vanish, such as
/// `fsync = off`, and that are accepted; with semicolons between them.
const ALLOW_LOSSY: &str = "RECOUNT_POSTGRES_ALLOW_LOSSY";

/// The variable with the password of addresses that have none, as for the programs of PostgreSQL.
const PASSWORD: &str = "PGPASSWORD";

/// The variable with the `sslmode` of addresses that have none, likewise.
const SSL_MODE: &str = "PGSSLMODE";

/// The variable with the `sslrootcert` for it.
const SSL_ROOTS: &str = "PGSSLROOTCERT";

/// The lease of a command, which owns the sessions that it writes to until it ends.
const LEASE: Duration = Duration::from_secs(10);

/// A journal in a database, by its address.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    address: Address,
}

/// The settings of a service for its journal in a database.
#[cfg(feature = "serve")]
#[derive(Debug, Default)]
pub(crate) struct NodeSettings {
    /// The name in messages.
    pub(crate) node: Option<String>,
    pub(crate) lease: Option<Duration>,
    /// The accepted settings of the server that may lose acknowledged appends.
    pub(crate) allow_lossy: Vec<String>,
}

impl Database {
    /// Reads an address. The error does not repeat it.
    pub(crate) fn at(text: &str) -> Result<Database, Failure> {
        let refused = |error: NotAnAddress| {
            Failure::new("bad-address", error.to_string())
                .exit(Exit::Usage)
                .advice("an address is postgres://USER@HOST:PORT/DATABASE; docs/postgres.md")
        };
        let mut address = text.parse::<Address>().map_err(refused)?;
        if let Some(password) = variable(PASSWORD) {
            address = address.or_password(&password);
        }
        if let Some(mode) = variable(SSL_MODE) {
            let roots = variable(SSL_ROOTS).filter(|_| mode != "disable");
            let set = address.or_ssl_mode(&mode, roots.as_deref());
            address = set.map_err(refused)?;
        }
        Ok(Database { address })
    }

    /// True if the address itself has a password.
    #[cfg(feature = "serve")]
    pub(crate) fn has_password(text: &str) -> bool {
        text.parse::<Address>().is_ok_and(|it| it.has_password())
    }

    /// Opens the journal to read it. Adds no record.
    pub(crate) fn reading(&self) -> Result<Arc<dyn Journal>, Failure> {
        self.opened(self.options().read_only())
    }

    /// Opens the journal to verify it: what is damaged is passed over, and told as it is.
    pub(crate) fn verifying(&self) -> Result<Arc<dyn Journal>, Failure> {
        self.opened(self.options().past_damage())
    }

    /// Opens an existing journal to add records, as a desk that owns sessions until it is closed.
    pub(crate) fn writing(&self) -> Result<Arc<dyn Journal>, Failure> {
        // Opening for writing makes the tables. A command makes none.
        if let Err(Error::Missing { path }) = self.options().read_only().open() {
            return Err(Failure::no_journal(&path));
        }
        self.made()
    }

    /// Opens the journal to add records. Its tables are made if there are none.
    pub(crate) fn made(&self) -> Result<Arc<dyn Journal>, Failure> {
        let name = format!("command {}", std::process::id());
        self.opened(lossy_of_environment(self.options().node(name).lease(LEASE)))
    }

    /// Opens the journal for a service. Its tables are made if there are none.
    #[cfg(feature = "serve")]
    pub(crate) fn serving(&self, settings: NodeSettings) -> Result<Arc<dyn Journal>, Failure> {
        let mut options = lossy_of_environment(self.options());
        if let Some(node) = settings.node {
            options = options.node(node);
        }
        if let Some(lease) = settings.lease {
            options = options.lease(lease);
        }
        let allowed = settings.allow_lossy.into_iter();
        self.opened(allowed.fold(options, Options::allow_lossy))
    }

    fn options(&self) -> Options {
        PostgresJournal::options(self.address.clone())
    }

    fn opened(&self, options: Options) -> Result<Arc<dyn Journal>, Failure> {
        options
            .open()
            .map(|it| Arc::new(it) as Arc<dyn Journal>)
            .map_err(|error| {
                let of_server = matches!(error, Error::Io { .. } | Error::Lossy { .. });
                let failure = Failure::from(error);
                match of_server {
                    // Its own text does not name the server.
                    true => Failure {
                        what: format!("{self}: {}", failure.what),
                        ..failure
                    },
                    false => failure,
                }
            })
    }
}

/// A variable that is set and not empty. One that is not UTF-8 counts, too: it is refused as wrong.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|it| !it.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

fn lossy_of_environment(options: Options) -> Options {
    let given = std::env::var(ALLOW_LOSSY).unwrap_or_default();
    let given = given.split(';').map(str::trim).filter(|it| !it.is_empty());
    given.fold(options, Options::allow_lossy)
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}
