//! A service from its start to its end.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::Mutex;
#[cfg(unix)]
use tokio_util::task::AbortOnDropHandle;

use super::behind::checkpoints::{self, Signing};
use super::behind::clock;
use super::behind::reads::Reads;
use super::behind::state_lock;
use super::behind::traces::{self, Traces};
use super::gateway::{self, BoundGateway, RunningGateway};
use super::listening::{Certificate, ConnectionLimits, Connections, Door, Encryption, ProxySocket};
use super::notify::{self, Notifications};
use super::options::Options;
use super::reload::Reloader;
use super::{agents, greeting, start, token_file};
use crate::config::{self, Config, Mistake};
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Stop};
use recount::engine::Engine;
use recount_server::{Access, Service, TokenStore};

/// The time for the last responses after the engine has ended.
const LAST_RESPONSES: Duration = Duration::from_secs(1);

/// The part of the grace period for clients of the gateway. The rest is for running tools.
const CLIENTS_OF_GRACE: u32 = 2;

/// A service that is running.
struct Running {
    engine: Engine,
    service: Service,
    connections: Connections,
    gateway: Option<RunningGateway>,
    traces: Traces,
    signing: Signing,
    notifications: Notifications,
    reads: Option<Reads>,
}

/// The certificates of the service and of its gateway, which may be one.
#[derive(Default)]
struct Certificates {
    service: Option<Arc<Certificate>>,
    gateway: Option<Arc<Certificate>>,
}

/// The listeners of a service that has not started.
struct Listeners {
    service: TcpListener,
    address: SocketAddr,
    proxy: Option<ProxySocket>,
    gateway: Option<BoundGateway>,
}

/// Serves until the program is asked to end.
pub(super) async fn run(
    options: Options,
    json: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let config = options.configured()?;
    let stop = Stop::listen_but_for_hang_up()?;
    #[cfg(unix)]
    let hang_ups = start::hang_ups()?;
    let (agents, mistakes) = config::load(&config.settings);
    let certificates = checked(&config, mistakes)?;
    let tokens = Arc::new(token_file::at_start(&config)?);
    let access = start::access(&config, tokens.clone())?;
    let reloader = Arc::new(reloader(options, &config, tokens, &access, &certificates));
    // Before the journal: a second service by mistake creates and changes nothing.
    let listeners = Listeners::bind(&config, certificates.gateway.clone()).await?;
    let agents = tokio::select! {
        biased;
        () = stop.asked() => return Ok(Exit::Ok),
        agents = agents::with_servers(&config.settings, agents) => agents?,
    };
    // Until the service has ended: its tasks write to the files of the state.
    let _state = state_lock::take(&config).await?;
    let (engine, reads) = start::open(&config, agents, reloader.clone()).await?;
    // Until the service ends.
    let _clock = clock::watch(engine.ledger().clone(), clock::of_system()).await;
    let address = listeners.address;
    let running = Running::start(&config, engine, reads, &access, listeners, certificates).await?;
    // Set once, before the first request to reload.
    let _ = reloader.notifications.set(running.notifications.clone());
    #[cfg(unix)]
    let reloading = {
        let engine = running.engine.clone();
        AbortOnDropHandle::new(tokio::spawn(reloader.at_hang_ups(hang_ups, engine)))
    };
    let gateway = running.gateway.as_ref();
    let dry_run = gateway.and_then(RunningGateway::dry_run);
    let greeted = greeting::greet(&config, address, gateway, &access, json, screen);
    if greeted.is_ok() {
        tokio::select! {
            () = stop.asked() => {}
            lost = lease_lost(&running.engine) => {
                running.leave().await;
                return Err(lost);
            }
        }
        if !json {
            greeting::tell_the_end(&config, screen);
        }
    }
    #[cfg(unix)]
    drop(reloading);
    let ended = running.end(&config).await;
    if let Some(dry_run) = dry_run.filter(|_| !json) {
        greeting::tell(&dry_run.lines(), screen);
    }
    greeted.and(ended).map(|()| Exit::Ok)
}

/// Waits until another node may own the sessions. A supervisor starts the service again, as a new
/// node.
async fn lease_lost(engine: &Engine) -> Failure {
    let journal = engine.ledger().journal();
    match journal.sharing() {
        Some(sharing) => {
            let error = sharing.lost().await;
            let advice = "Start the service again: it takes part as a new node.";
            Failure::new("lease-lost", error.to_string()).advice(advice)
        }
        None => std::future::pending().await,
    }
}

/// The certificates, if the configuration has no mistake.
fn checked(config: &Config, mut mistakes: Vec<Mistake>) -> Result<Certificates, Failure> {
    let certificates = Certificates::read(config).unwrap_or_else(|found| {
        mistakes.extend(found);
        Certificates::default()
    });
    mistakes.extend(config.unreachable());
    mistakes.extend(traces::mistakes(config));
    mistakes.extend(notify::mistakes(config));
    mistakes.extend(checkpoints::mistakes(config));
    mistakes.extend(gateway::mistakes(config));
    config.sound(mistakes)?;
    Ok(certificates)
}

fn reloader(
    options: Options,
    config: &Config,
    tokens: Arc<TokenStore>,
    access: &Access,
    certificates: &Certificates,
) -> Reloader {
    Reloader {
        options,
        started: config.settings.clone(),
        reloading: Mutex::default(),
        tokens,
        had_tokens: config.tokens().exists().into(),
        tokens_file: config.tokens(),
        access: access.clone(),
        certificate: certificates.service.clone(),
        gateway_certificate: certificates.gateway.clone(),
        notifications: OnceLock::new(),
    }
}

impl Certificates {
    fn read(config: &Config) -> Result<Certificates, Vec<Mistake>> {
        let settings = &config.settings;
        let service = Certificate::read(&settings.tls).map(|it| it.map(Arc::new));
        let own = settings.gateway.as_ref().map(|it| &it.tls);
        let gateway = match own.filter(|it| it.is_given()) {
            Some(own) => Certificate::read(own).map(|it| it.map(Arc::new)),
            None => service.clone(),
        };
        match (service, gateway) {
            (Ok(service), Ok(gateway)) => Ok(Certificates { service, gateway }),
            (service, gateway) => {
                let mistakes = service.err().into_iter().chain(gateway.err());
                Err(mistakes.flatten().collect())
            }
        }
    }
}

impl Listeners {
    async fn bind(
        config: &Config,
        certificate: Option<Arc<Certificate>>,
    ) -> Result<Listeners, Failure> {
        let (service, address) = start::bind(config.listen().value).await?;
        let proxy = config.settings.access.proxy.as_ref();
        Ok(Listeners {
            service,
            address,
            proxy: proxy.map(ProxySocket::bind).transpose()?,
            gateway: BoundGateway::bind(config, certificate).await?,
        })
    }
}

impl Running {
    /// Starts all that is over the engine.
    async fn start(
        config: &Config,
        engine: Engine,
        reads: Option<Reads>,
        access: &Access,
        listeners: Listeners,
        certificates: Certificates,
    ) -> Result<Running, Failure> {
        let traces = traces::start(config, &engine).await?;
        let signing = checkpoints::start(config, &engine).await?;
        let url = greeting::url(config, listeners.address);
        let notifications = Notifications::start(config, &engine, url).await?;
        let gateway = match listeners.gateway {
            Some(bound) => Some(bound.start(config, &engine, access).await?),
            None => None,
        };
        let service = start::service(config, engine.clone(), access.clone());
        let mut service = service.notifications(notifications.notifier().clone());
        if let Some(reads) = &reads {
            service = service.recording_reads(reads.recorder().clone());
        }
        if let Some(board) = signing.board() {
            service = service.checkpoints(board.clone());
        }
        let limits = ConnectionLimits {
            connections: config.connections(),
            head_time: config.head_time(),
        };
        let encryption = Encryption::with(certificates.service);
        let mut doors = vec![Door::Tcp(listeners.service, encryption)];
        doors.extend(listeners.proxy.map(Door::Proxy));
        let connections = Connections::accept(doors, service.clone().router(), limits);
        Ok(Running {
            engine,
            service,
            connections,
            gateway,
            traces,
            signing,
            notifications,
            reads,
        })
    }

    /// Ends the service without its sessions, which may be another node's.
    async fn leave(self) {
        self.service.drain();
        self.connections.close();
        self.connections.cut().await;
        if let Some(gateway) = self.gateway {
            gateway.end().await;
        }
        if let Some(reads) = self.reads
            && let Err(failure) = reads.stop().await
        {
            tracing::error!(%failure.what, "the access journal was not closed");
        }
    }

    /// Ends the service: first the requests and the clients of the gateway, then the sessions, all
    /// within the grace period.
    async fn end(self, config: &Config) -> Result<(), Failure> {
        let (begun, grace) = (Instant::now(), config.grace());
        self.service.drain();
        self.connections.close();
        let clients = async {
            if let Some(gateway) = &self.gateway {
                gateway.drain(grace / CLIENTS_OF_GRACE).await;
            }
        };
        let (has_ended, ()) = tokio::join!(self.connections.ended(grace), clients);
        if !has_ended {
            tracing::warn!("requests did not end within the grace period");
        }
        // Before the journal is closed. The spans and notifications of what the shutdown records
        // follow with the next start.
        tokio::join!(self.traces.stop(), self.notifications.stop());
        let rest = grace.saturating_sub(begun.elapsed());
        let last = self.signing.stop();
        let shut = self.engine.shutdown_after(rest, last).await;
        // Requests that wait for a session have ended with it.
        self.connections.ended(LAST_RESPONSES).await;
        self.connections.cut().await;
        if let Some(gateway) = self.gateway {
            gateway.end().await;
        }
        // Behind the last response.
        let recorded = match self.reads {
            Some(reads) => reads.stop().await,
            None => Ok(()),
        };
        shut?;
        recorded
    }
}
