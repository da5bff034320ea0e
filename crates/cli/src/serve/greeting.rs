//! The words of a service for its operator: its addresses, and its end.

use std::net::SocketAddr;

use serde_json::json;

use super::gateway::RunningGateway;
use crate::config::Config;
use crate::failures::Failure;
use crate::terminal::{Screen, Tone};
use recount_server::Access;
use recount_telling::{one_line, shown};

/// The URL of an address of the service.
pub(super) fn url(config: &Config, address: SocketAddr) -> String {
    let scheme = if config.has_tls() { "https" } else { "http" };
    format!("{scheme}://{address}")
}

/// Prints the addresses and, for the user of this machine, the link to log in.
pub(super) fn greet(
    config: &Config,
    address: SocketAddr,
    gateway: Option<&RunningGateway>,
    access: &Access,
    json: bool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let url = url(config, address);
    let token = access.login_token();
    let token = token.map_err(|error| Failure::new("engine", error.to_string()))?;
    let link = token.map(|it| format!("{url}/login?token={}", it.expose()));
    if json {
        screen.json(&json!({
            "address": address.to_string(),
            "url": url,
            "link": link,
            "gateway": gateway.map(RunningGateway::to_json),
            "journal": config.journal().to_string(),
            "config": config.file.as_ref().map(|it| it.display().to_string()),
            "pid": std::process::id(),
        }))?;
        return screen.flush();
    }
    let journal = config.journal();
    screen.line(&format!("Serving {} at {url}", journal.shown()))?;
    if let Some(file) = &config.file {
        let line = format!("  configured by {}", shown(file));
        screen.toned(Tone::Quiet, &line)?;
    }
    if let Some(proxy) = &config.settings.access.proxy {
        let line = format!("  users of the proxy on {}", shown(&proxy.socket.value));
        screen.toned(Tone::Quiet, &line)?;
    }
    if let Some((line, more)) = gateway.map(RunningGateway::in_words) {
        screen.line(&one_line(&line))?;
        for line in more {
            screen.toned(Tone::Quiet, &one_line(&line))?;
        }
    }
    if let Some(link) = link {
        screen.line("Log in once, within ten minutes, with this link:")?;
        screen.toned(Tone::Ask, &format!("  {link}"))?;
    }
    screen.toned(Tone::Quiet, "Ctrl-C ends the service.")?;
    screen.flush()
}

/// Prints for how long the end may take. A terminal that is gone does not keep the service.
pub(super) fn tell_the_end(config: &Config, screen: &mut Screen) {
    let grace = config.grace().as_secs();
    let clients = match config.settings.gateway {
        Some(_) => ", clients of the gateway",
        None => "",
    };
    let line = format!(
        "Ending: requests{clients} and tools may finish within {grace} s. Ctrl-C again ends at \
         once."
    );
    let _ = screen.toned(Tone::Quiet, &line);
    let _ = screen.flush();
}

/// Tells the report of a service that has ended. A terminal that is gone does not mind.
pub(super) fn tell(lines: &[String], screen: &mut Screen) {
    for line in lines {
        let _ = screen.line(line);
    }
    let _ = screen.flush();
}
