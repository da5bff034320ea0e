//! `recount demo --ui`: the demo's conversation, with its approval in the browser.

use std::time::Duration;

use super::place::Place;
use super::service::converse;
use super::tools::{AGENT, agent};
use crate::failures::{Exit, Failure};
use crate::journal::os_user;
use crate::serve::loopback;
use crate::telling::Follower;
use crate::terminal::{Screen, Stop, Tone};
use recount::engine::{Engine, LiveHandle};
use recount::session::Seq;
use recount::simulator::Running;
use recount_server::{Access, Service};

/// The time for running tools at the end.
const GRACE: Duration = Duration::from_secs(5);

/// Serves one conversation and its pages on loopback until Ctrl-C.
pub(super) async fn serve(
    place: &Place,
    simulator: Running,
    endpoint: &str,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let stop = Stop::listen()?;
    let agent = agent(endpoint, place.witness.clone());
    let engine = Engine::builder(&place.path).agent(AGENT, agent);
    let engine = engine.open().await?;
    let access = Access::single_user(os_user::current()?);
    let service = Service::new(engine.clone(), access.clone());
    let pages = loopback(&service).await?;
    let live = converse(&engine).await?;
    let mut follower = Follower::new(&live, Seq(0), screen).await?;
    let token = access.login_token();
    let token = token.map_err(|error| Failure::new("engine", error.to_string()))?;
    let link = token.map(|it| {
        let host = pages.address();
        format!("http://{host}/login?token={}&next=inbox", it.expose())
    });
    screen.line("A simulated model asks for a refund. Decide about it in your browser:")?;
    screen.toned(Tone::Ask, &format!("  {}", link.unwrap_or_default()))?;
    screen.toned(
        Tone::Quiet,
        "The link is valid once, for ten minutes. Ctrl-C ends the demo.",
    )?;
    screen.line("")?;
    screen.flush()?;
    let told = tokio::select! {
        biased;
        () = stop.asked() => Ok(()),
        told = tell(&live, &mut follower, screen) => told,
    };
    service.drain();
    pages.end().await;
    let shut = engine.shutdown(GRACE).await;
    simulator.shutdown().await;
    told?;
    shut?;
    screen.line(&format!("The journal is in {}", place.quoted()))?;
    Ok(Exit::Ok)
}

/// Prints what is recorded, as long as the session is served.
async fn tell(
    live: &LiveHandle,
    follower: &mut Follower,
    screen: &mut Screen,
) -> Result<(), Failure> {
    loop {
        follower.show_new(screen).await?;
        follower.wake(live).await?;
    }
}
