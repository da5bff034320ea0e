//! The command `recount serve`: the service from its start to its end.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use tokio::sync::Mutex;
#[cfg(unix)]
use tokio_util::task::AbortOnDropHandle;

use super::agents;
use super::behind::checkpoints::{self, Signing};
use super::behind::clock;
use super::behind::reads::Reads;
use super::behind::traces::{self, Traces};
use super::connections::{ConnectionLimits, Connections, Door};
use super::notify::{self, Notifications};
use super::options::Options;
use super::proxy_socket::ProxySocket;
use super::reload::Reloader;
use super::tls::Certificate;
use super::{start, token_file};
use crate::config::{self, Config};
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Stop, Tone};
use recount::engine::Engine;
use recount_server::{Access, Service};
use recount_telling::shown;

/// The time for the last responses after the engine has ended.
const LAST_RESPONSES: std::time::Duration = std::time::Duration::from_secs(1);

/// Serves the HTTP API over a journal, until Ctrl-C or SIGTERM.
///
/// Without a configuration it uses the journal in ./recount-journal, listens on 127.0.0.1:7878, and
/// prints a link with which you log in once. It reads recount.toml if there is one; `recount init`
/// writes it, and docs/serve.md describes it. Variables such as RECOUNT_SERVE_LISTEN override the
/// file, and these options override both.
///
/// At the end, requests and running tools may finish within the grace period. SIGHUP makes it read
/// policies, tokens, the issuer of JWTs, the certificate and the sinks of notifications anew, as
/// `recount reload` does.
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    options: Options,
    /// Prints one line of JSON when the service is ready.
    #[arg(long)]
    json: bool,
}

/// A service that is running.
struct Running {
    engine: Engine,
    service: Service,
    connections: Connections,
    traces: Traces,
    signing: Signing,
    notifications: Notifications,
    reads: Option<Reads>,
}

impl Serve {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let config = self.options.configured()?;
        let stop = Stop::listen_but_for_hang_up()?;
        #[cfg(unix)]
        let hang_ups = start::hang_ups()?;
        let (agents, mut mistakes) = config::load(&config.settings);
        let certificate = Certificate::read(&config.settings.tls).unwrap_or_else(|found| {
            mistakes.extend(found);
            None
        });
        mistakes.extend(config.unreachable());
        mistakes.extend(traces::mistakes(&config));
        mistakes.extend(notify::mistakes(&config));
        mistakes.extend(checkpoints::mistakes(&config));
        config.sound(mistakes)?;
        let tokens = Arc::new(token_file::at_start(&config)?);
        let access = start::access(&config, tokens.clone())?;
        let certificate = certificate.map(Arc::new);
        let reloader = Arc::new(Reloader {
            options: self.options.clone(),
            started: config.settings.clone(),
            reloading: Mutex::default(),
            tokens,
            had_tokens: config.tokens().exists().into(),
            tokens_file: config.tokens(),
            access: access.clone(),
            certificate: certificate.clone(),
            notifications: OnceLock::new(),
        });
        // Before the journal: a second service by mistake creates and changes nothing.
        let (listener, address) = start::bind(config.listen().value).await?;
        let proxy = config.settings.access.proxy.as_ref();
        let socket = proxy.map(ProxySocket::bind).transpose()?;
        let agents = tokio::select! {
            biased;
            () = stop.asked() => return Ok(Exit::Ok),
            agents = agents::with_servers(&config.settings, agents) => agents?,
        };
        let (engine, reads) = start::open(&config, agents, reloader.clone()).await?;
        // Until the service ends.
        let _clock = clock::watch(engine.ledger().clone(), clock::of_system()).await;
        let traces = traces::start(&config, &engine).await?;
        let signing = checkpoints::start(&config, &engine).await?;
        let url = url(&config, address);
        let notifications = Notifications::start(&config, &engine, url).await?;
        // Set once, before the first request to reload.
        let _ = reloader.notifications.set(notifications.clone());
        #[cfg(unix)]
        let reloading =
            AbortOnDropHandle::new(tokio::spawn(reloader.at_hang_ups(hang_ups, engine.clone())));
        let service = start::service(&config, engine.clone(), access.clone());
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
        let mut doors = vec![Door::Tcp(listener)];
        doors.extend(socket.map(Door::Proxy));
        let router = service.clone().router();
        let connections = Connections::accept(doors, router, certificate, limits);
        let running = Running {
            engine,
            service,
            connections,
            traces,
            signing,
            notifications,
            reads,
        };
        let greeted = self.greet(&config, address, &access, screen);
        if greeted.is_ok() {
            stop.asked().await;
            self.tell_the_end(&config, screen);
        }
        #[cfg(unix)]
        drop(reloading);
        let ended = running.end(&config).await;
        greeted.and(ended).map(|()| Exit::Ok)
    }

    /// Prints the address and, for the user of this machine, the link to log in.
    fn greet(
        &self,
        config: &Config,
        address: SocketAddr,
        access: &Access,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let url = url(config, address);
        let token = access.login_token();
        let token = token.map_err(|error| Failure::new("engine", error.to_string()))?;
        let link = token.map(|it| format!("{url}/login?token={}", it.expose()));
        if self.json {
            screen.json(&json!({
                "address": address.to_string(),
                "url": url,
                "link": link,
                "journal": config.journal().display().to_string(),
                "config": config.file.as_ref().map(|it| it.display().to_string()),
                "pid": std::process::id(),
            }))?;
            return screen.flush();
        }
        let journal = config.journal();
        screen.line(&format!("Serving {} at {url}", shown(&journal)))?;
        if let Some(file) = &config.file {
            let line = format!("  configured by {}", shown(file));
            screen.toned(Tone::Quiet, &line)?;
        }
        if let Some(proxy) = &config.settings.access.proxy {
            let line = format!("  users of the proxy on {}", shown(&proxy.socket.value));
            screen.toned(Tone::Quiet, &line)?;
        }
        if let Some(link) = link {
            screen.line("Log in once, within ten minutes, with this link:")?;
            screen.toned(Tone::Ask, &format!("  {link}"))?;
        }
        screen.toned(Tone::Quiet, "Ctrl-C ends the service.")?;
        screen.flush()
    }
}

/// The URL of an address of the service.
fn url(config: &Config, address: SocketAddr) -> String {
    let scheme = if config.has_tls() { "https" } else { "http" };
    format!("{scheme}://{address}")
}

impl Serve {
    /// Says for how long the end may take. A terminal that is gone does not keep the service.
    fn tell_the_end(&self, config: &Config, screen: &mut Screen) {
        if self.json {
            return;
        }
        let grace = config.grace().as_secs();
        let line = format!(
            "Ending: requests and tools may finish within {grace} s. Ctrl-C again ends at once."
        );
        let _ = screen.toned(Tone::Quiet, &line);
        let _ = screen.flush();
    }
}

impl Running {
    /// Ends the service: first the requests, then the sessions, both within the grace period.
    async fn end(self, config: &Config) -> Result<(), Failure> {
        let (begun, grace) = (Instant::now(), config.grace());
        self.service.drain();
        self.connections.close();
        if !self.connections.ended(grace).await {
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
        // Behind the last response.
        let recorded = match self.reads {
            Some(reads) => reads.stop().await,
            None => Ok(()),
        };
        shut?;
        recorded
    }
}
