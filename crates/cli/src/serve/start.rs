//! The parts of a service that are there before it serves: access, address, journal, engine; and a
//! service on a free port of this machine, for commands that show pages.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::agents::Ready;
use super::behind::reads::{self, Reads};
use super::key_store;
use super::listening::{ConnectionLimits, Connections, Door, Encryption};
use super::reload::Reloader;
use crate::config::{self, Config};
use crate::failures::{Exit, Failure, IN_USE};
use crate::files::destination;
use crate::journal::{Location, PATIENCE, opening, os_user};
use recount::engine::{Engine, Error, PROGRAM};
use recount_journal::Journal;
use recount_server::{Access, Rates, Service, TokenStore};
use recount_telling::{one_line, shown};

/// The access: tokens, other parties, and on loopback also the user who starts the service.
pub(super) fn access(config: &Config, tokens: Arc<TokenStore>) -> Result<Access, Failure> {
    let listen = config.listen().value;
    // A link in the log of a service that other machines reach would let their users in.
    let access = if listen.ip().is_loopback() && !config.is_behind_proxy() {
        Access::single_user(os_user::current()?)
    } else {
        Access::none()
    };
    let access = access.with_tokens(tokens);
    let access = match config.has_tls() {
        true => access.with_tls(),
        false => access,
    };
    let limits = &config.settings.limits;
    let mut rates = Rates::default();
    if let Some(given) = &limits.requests_per_second {
        rates.requests_per_second = given.value;
    }
    if let Some(given) = &limits.failures_per_minute {
        rates.failures_per_minute = given.value;
    }
    let access = access.with_rates(rates);
    let access = config::with_identities(access, &config.settings.access)
        .map_err(|mistakes| config::wrong(config.name(), &mistakes))?;
    let Some(url) = &config.settings.access.public_url else {
        return Ok(access);
    };
    access.with_public_url(&url.value).map_err(|error| {
        let mistake = url.mistake(error.to_string()).to_string();
        Failure::new("config-file", mistake).exit(Exit::Usage)
    })
}

/// The service over the engine, with its limits.
pub(super) fn service(config: &Config, engine: Engine, access: Access) -> Service {
    let limits = &config.settings.limits;
    let count = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
    let mut service = Service::new(engine, access);
    if let Some(given) = &limits.body_bytes {
        service = service.body_max(count(given.value));
    }
    if let Some(given) = &limits.body_time {
        service = service.body_time(given.value);
    }
    if let Some(given) = &limits.streams {
        service = service.streams_of_each(count(given.value));
    }
    if let Some(given) = &limits.waiting {
        service = service.waits_of_each(count(given.value));
    }
    service
}

/// The signals that ask to read the configuration anew. Without a listener they end the program.
#[cfg(unix)]
pub(super) fn hang_ups() -> Result<tokio::signal::unix::Signal, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::hangup()).map_err(|error| Failure::io("listen for signals", &error))
}

/// Listens on the address.
pub(super) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error: std::io::Error| {
        let what = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!("another process already listens on {address}")
            }
            _ => format!("failed to listen on {address}: {error}"),
        };
        Failure::new("listen", what)
            .advice("choose another address with --listen, such as 127.0.0.1:0 for any free port")
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Opens the journal, the recording of reads, and the engine over both.
pub(super) async fn open(
    config: &Config,
    agents: Vec<Ready>,
    reloader: Arc<Reloader>,
) -> Result<(Engine, Option<Reads>), Failure> {
    let at = config.journal();
    let keys = key_store::opened(config)?;
    let journal: Arc<dyn Journal> = match &at {
        Location::Path(directory) => {
            destination::outside_journals(directory)?;
            let options = opening::options(directory)?.create(true);
            let opened = options.program(PROGRAM).wait(PATIENCE).open();
            Arc::new(opened.map_err(|error| taken(error.into()))?)
        }
        Location::Database(database) => {
            make_private(&config.local())?;
            database.serving(config.settings.postgres.of_node())?
        }
    };
    // Behind the lock of the journal, and before the first client.
    let reads = reads::start(config).await?;
    let engine = opening::engine(journal, &at);
    let mut engine = engine.on_reload(move |engine| {
        let reloader = reloader.clone();
        async move { reloader.reload(&engine).await }
    });
    if let Some(reads) = &reads {
        let recorder = reads.recorder().clone();
        engine = engine.on_look(move |look| reads::looked(recorder.clone(), look));
    }
    if let Some(keys) = keys {
        engine = engine.keys(keys);
    }
    if let Some(limit) = &config.settings.limits.running_max {
        engine = engine.running_max(usize::try_from(limit.value).unwrap_or(usize::MAX));
    }
    for ready in agents {
        engine = engine.agent(ready.name, ready.agent);
    }
    let engine = engine.open().await.map_err(|error| match error {
        Error::Configuration { mistakes } => {
            let listed = mistakes.iter().map(|it| format!("\n  - {}", one_line(it)));
            let what = format!("the agents have mistakes:{}", listed.collect::<String>());
            Failure::new("config-file", what)
                .exit(Exit::Usage)
                .advice("`recount check` lists them with their lines")
        }
        error => error.into(),
    })?;
    Ok((engine, reads))
}

/// Creates a directory for this user alone, and those above it, unless they exist.
pub(super) fn make_private(directory: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(directory);
    made.map_err(|error| Failure::io(format!("create {}", shown(directory)), &error))
}

/// The failure with the advice for a journal that another service has.
fn taken(failure: Failure) -> Failure {
    if failure.code != IN_USE {
        return failure;
    }
    failure.advice("stop that process first, or give another journal with --journal DIR")
}

/// The limits of the connections of one person's browsers.
const LOOPBACK_LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 128,
    head_time: Duration::from_secs(60),
};

/// The time for open requests at the end.
const LOOPBACK_GRACE: Duration = Duration::from_secs(2);

/// The listener of a service on loopback.
pub(crate) struct Loopback {
    address: SocketAddr,
    connections: Connections,
}

/// Listens on a free port of 127.0.0.1.
pub(crate) async fn loopback(service: &Service) -> Result<Loopback, Failure> {
    let (listener, address) = bind((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let router = service.clone().router();
    let doors = vec![Door::Tcp(listener, Encryption::None)];
    let connections = Connections::accept(doors, router, LOOPBACK_LIMITS);
    Ok(Loopback {
        address,
        connections,
    })
}

impl Loopback {
    /// The address of the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the listener, and ends the connections within two seconds.
    pub(crate) async fn end(self) {
        self.connections.close();
        if !self.connections.ended(LOOPBACK_GRACE).await {
            self.connections.cut().await;
        }
    }
}
