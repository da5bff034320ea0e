//! The settings with which a journal is opened.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::Error;

use crate::address::{Address, NotAnAddress};
use crate::claims::{Claims, former};
use crate::commits::Damage;
use crate::committer::{COMMITTERS, Committer};
use crate::error::failed;
use crate::journal::{PostgresJournal, Writer};
use crate::node::Lease;
use crate::queue::Queue;
use crate::schema;
use crate::sequencer::Sequencer;
use crate::server::Server;
use crate::server::settings::{self, Found};

/// The lease of a node that sets none.
const LEASE: Duration = Duration::from_secs(10);

/// The shortest lease: what the database answers late must not end it.
const SHORTEST: Duration = Duration::from_millis(500);

/// The settings of a journal in a database; [`open`](Options::open) opens it.
///
/// ```no_run
/// use std::time::Duration;
/// use recount_postgres::PostgresJournal;
///
/// let address = "postgres://recount@db.internal/journal".parse()?;
/// let journal = PostgresJournal::options(address)
///     .node("web-1")
///     .lease(Duration::from_secs(3))
///     .open()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    address: Address,
    node: Option<String>,
    lease: Duration,
    lossy: Vec<String>,
    is_read_only: bool,
    damage: Damage,
}

impl PostgresJournal {
    /// Opens a journal at an address such as `postgres://recount@db.internal/journal`, and makes
    /// its tables if there are none. See [`Options`] for the settings.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(address: &str) -> Result<Self, Error> {
        let address: Address = address.parse().map_err(not_a_journal)?;
        Options::new(address).open()
    }

    /// Returns the settings of a journal, to be changed before it is opened.
    pub fn options(address: Address) -> Options {
        Options::new(address)
    }
}

impl Options {
    fn new(address: Address) -> Self {
        Self {
            address,
            node: None,
            lease: LEASE,
            lossy: Vec::new(),
            is_read_only: false,
            damage: Damage::Refused,
        }
    }

    /// Sets the name of this node in messages. Defaults to the process id.
    #[must_use]
    pub fn node(mut self, name: impl Into<String>) -> Self {
        self.node = Some(name.into());
        self
    }

    /// Sets the time for which this node owns its sessions after the database was last reached;
    /// 10 s by default, at least 0.5 s. Another node takes over after that time at the latest.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(SHORTEST);
        self
    }

    /// Accepts a setting of the server under which acknowledged appends may vanish, such as
    /// `synchronous_commit = off`. It is noted in the journal's own stream.
    #[must_use]
    pub fn allow_lossy(mut self, setting: impl Into<String>) -> Self {
        self.lossy.push(setting.into());
        self
    }

    /// Opens the journal for reading only. It must exist; this process is no node.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Opens the journal for a verification: for reading only, and
    /// [`follow`](recount_journal::Journal::follow) passes over damage. An append whose row is
    /// missing has no lines there, and the lines of a damaged row are as they are.
    ///
    /// Elsewhere such a row is [`Error::Damaged`], and nothing behind it is read.
    #[must_use]
    pub fn past_damage(mut self) -> Self {
        self.damage = Damage::Shown;
        self.read_only()
    }

    /// Opens the journal, and makes its tables if there are none. Blocks until it is open.
    ///
    /// # Errors
    /// [`Error::Io`] if the server cannot be reached; [`Error::NewerFormat`] for tables of a newer
    /// version; [`Error::Lossy`] if the server may lose what it acknowledged; [`Error::Missing`]
    /// for reading if there are no tables.
    pub fn open(self) -> Result<PostgresJournal, Error> {
        let server = Arc::new(Server::new(self.address.clone())?);
        let opening = Arc::clone(&server);
        let opened = server.run(async move { self.opened(opening).await });
        let opened = recount_journal::block_on(opened);
        if opened.is_err() {
            // Its tasks would renew the lease of a node that no one has.
            server.stop();
        }
        opened
    }

    async fn opened(self, server: Arc<Server>) -> Result<PostgresJournal, Error> {
        let address = server.address.clone();
        let mut client = server.connect_in_time().await?;
        if self.is_read_only {
            schema::check(&client, &address).await?;
            let sequencer = Arc::new(Sequencer::new(Arc::clone(&server)));
            let damage = self.damage;
            return Ok(PostgresJournal::new((server, sequencer), None, damage));
        }
        let Found { lossy, commit } = settings::read(&client).await?;
        if lossy.iter().any(|it| !self.lossy.contains(it)) {
            return Err(Error::Lossy { settings: lossy });
        }
        server.pin_commit(commit);
        schema::bring_up_to_date(&mut client, &address).await?;
        let name = self
            .node
            .unwrap_or_else(|| format!("process {}", std::process::id()));
        let schema = address.quoted_schema();
        let lease = Lease::register(&client, &schema, name, self.lease).await?;
        let lease = Arc::new(lease);
        let claims = Arc::<Claims>::default();
        let kept = (Arc::clone(&lease), Arc::clone(&server), Arc::clone(&claims));
        let allowed = self.lossy;
        server.spawn(async move { kept.0.keep(&kept.1, &kept.2, &allowed).await });
        let sequencer = Arc::new(Sequencer::new(Arc::clone(&server)));
        let ordering = Arc::clone(&sequencer);
        server.spawn(async move { ordering.keep_up().await });
        let tidying = Arc::clone(&server);
        server.spawn(async move { former::remove(&tidying).await });
        let queue = Arc::new(Queue::default());
        let mut committers = Vec::new();
        for _ in 0..COMMITTERS {
            let committer = Committer {
                server: Arc::clone(&server),
                queue: Arc::clone(&queue),
                lease: Arc::clone(&lease),
                claims: Arc::clone(&claims),
            };
            let line = committer.connect().await.map_err(failed("connect"))?;
            committers.push(server.spawn(committer.run(line)));
        }
        let writer = Writer::new(queue, lease, claims, committers);
        let journal =
            PostgresJournal::new((server, sequencer), Some(Arc::new(writer)), Damage::Refused);
        journal.note_lossy(&lossy).await?;
        Ok(journal)
    }
}

fn not_a_journal(error: NotAnAddress) -> Error {
    Error::Io {
        doing: "open the journal".to_owned(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, error),
    }
}
