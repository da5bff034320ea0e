//! The gateway of a service, from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use recount_gateway::{AnyCredential, Credentials, Entrance, Gateway, Settings, Upstream};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::dry_run::DryRun;
use super::entrance::TokenEntrance;
use super::settings;
use crate::config::{self, Config};
use crate::failures::{Exit, Failure};
use crate::serve::listening::{Certificate, ConnectionLimits, Connections, Door, Encryption};
use crate::serve::start;
use recount::engine::Engine;
use recount_server::Access;

/// The connections beyond those of the gateway's clients, on which further ones are refused.
const REFUSED_MAX: u32 = 64;

/// The listeners of a gateway that has not started.
pub(in crate::serve) struct BoundGateway {
    settings: Settings,
    plain: (TcpListener, SocketAddr),
    encrypted: Option<(TcpListener, SocketAddr)>,
    certificate: Option<Arc<Certificate>>,
}

/// A gateway that is running.
pub(in crate::serve) struct RunningGateway {
    gateway: Gateway,
    connections: Connections,
    /// The addresses and the settings, for people and programs.
    ready: Ready,
    dry_run: Option<Arc<DryRun>>,
}

/// The addresses and the settings of a gateway.
struct Ready {
    plain: SocketAddr,
    encrypted: Option<SocketAddr>,
    takes_both: bool,
    agent: String,
    upstream: Option<String>,
    dry_run: bool,
}

impl BoundGateway {
    /// Listens for the gateway, if there is one.
    pub(in crate::serve) async fn bind(
        config: &Config,
        certificate: Option<Arc<Certificate>>,
    ) -> Result<Option<BoundGateway>, Failure> {
        let Some(given) = &config.settings.gateway else {
            return Ok(None);
        };
        let settings = settings::of(config);
        let settings = settings.map_err(|it| config::wrong(config.name(), &[it]))?;
        let Some(settings) = settings else {
            return Ok(None);
        };
        let plain = start::bind(given.plain()).await?;
        let encrypted = match &given.tls_listen {
            Some(address) => Some(start::bind(address.value).await?),
            None => None,
        };
        Ok(Some(BoundGateway {
            settings,
            plain,
            encrypted,
            certificate,
        }))
    }

    /// Starts the gateway over the engine.
    pub(in crate::serve) async fn start(
        self,
        config: &Config,
        engine: &Engine,
        access: &Access,
    ) -> Result<RunningGateway, Failure> {
        let entrance: Arc<dyn Entrance> = match &self.settings.credentials {
            Credentials::PassThrough => Arc::new(AnyCredential),
            Credentials::Tokens { .. } => Arc::new(TokenEntrance(access.clone())),
        };
        let ready = Ready {
            plain: self.plain.1,
            encrypted: self.encrypted.as_ref().map(|it| it.1),
            takes_both: self.certificate.is_some(),
            agent: self.settings.agent.clone(),
            upstream: match &self.settings.upstream {
                Upstream::Vendor => None,
                Upstream::Url(url) => Some(url.clone()),
            },
            dry_run: self.settings.dry_run,
        };
        let clients = u32::try_from(self.settings.connections).unwrap_or(u32::MAX);
        let limits = ConnectionLimits {
            connections: clients.saturating_add(REFUSED_MAX),
            head_time: config.head_time(),
        };
        let dry_run = ready.dry_run.then(|| Arc::new(DryRun::start(engine)));
        let gateway = Gateway::start(engine.clone(), self.settings, entrance).await;
        let gateway = gateway.map_err(|error| Failure::new("gateway", error.to_string()))?;
        let offered = self.certificate.clone();
        let offered = offered.map_or(Encryption::None, Encryption::Offered);
        let mut doors = vec![Door::Tcp(self.plain.0, offered)];
        if let Some((listener, _)) = self.encrypted {
            let certificate = self.certificate.ok_or_else(no_certificate)?;
            doors.push(Door::Tcp(listener, Encryption::Always(certificate)));
        }
        let connections = Connections::accept(doors, gateway.router(), limits);
        Ok(RunningGateway {
            gateway,
            connections,
            ready,
            dry_run,
        })
    }
}

/// The check of the settings has reported it.
fn no_certificate() -> Failure {
    let what = "expected a certificate for tls_listen, found none";
    Failure::new("config-file", what).exit(Exit::Usage)
}

impl RunningGateway {
    /// Refuses new clients, and waits for the others up to `grace`. The rest is then sent away.
    pub(in crate::serve) async fn drain(&self, grace: Duration) {
        self.gateway.drain();
        self.gateway.ended(grace).await;
    }

    /// Closes the listeners, which until now refused new clients.
    pub(in crate::serve) async fn end(self) {
        self.connections.close();
        self.connections.cut().await;
    }

    /// The calls that would have been held, in a dry run.
    pub(in crate::serve) fn dry_run(&self) -> Option<Arc<DryRun>> {
        self.dry_run.clone()
    }

    /// The gateway in JSON.
    pub(in crate::serve) fn to_json(&self) -> Value {
        let ready = &self.ready;
        json!({
            "address": ready.plain.to_string(),
            "url": format!("http://{}", ready.plain),
            "tls_address": ready.encrypted.map(|it| it.to_string()),
            "tls_url": ready.tls_url(),
            "agent": ready.agent,
            "upstream": ready.upstream,
            "dry_run": ready.dry_run,
        })
    }

    /// The gateway for people: a line, and those that belong to it.
    pub(in crate::serve) fn in_words(&self) -> (String, Vec<String>) {
        let ready = &self.ready;
        let upstream = ready.upstream.as_deref().unwrap_or("the vendor");
        let line = format!(
            "Relaying live clients at http://{} to {upstream}",
            ready.plain
        );
        let mut more = vec![format!("  for the agent {}", ready.agent)];
        more.push(match ready.tls_url() {
            Some(url) => format!("  encrypted at {url}"),
            None => "  for clients with TLS: recount gateway dev-certificate".to_owned(),
        });
        if ready.dry_run {
            more.push("  a dry run: nothing is held".to_owned());
        }
        (line, more)
    }
}

impl Ready {
    /// The URL for encrypted clients.
    fn tls_url(&self) -> Option<String> {
        let both = self.takes_both.then_some(self.plain);
        let address = self.encrypted.or(both)?;
        Some(format!("https://{address}"))
    }
}
