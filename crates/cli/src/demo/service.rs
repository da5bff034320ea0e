//! The process that the demo kills: it serves the conversation, and nothing in it knows that it is
//! a demo's.
//!
//! What it prints is the timeline. A line that begins with [`CONTROL`] is for the demo alone.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::place::Place;
use super::tools::{AGENT, agent};
use crate::failures::{Exit, Failure};
use crate::journal::os_user;
use crate::telling::{Follower, is_calm, question};
use crate::terminal::{Screen, Tone};
use recount::engine::{Clock, Engine, SystemClock, Ticket, ToolConfirmation};
use recount::session::{Actor, Phase, Seq, Session, WaitsFor};

/// What a line for the demo begins with; no timeline has it.
pub(super) const CONTROL: char = '\u{1e}';

/// What the user says.
const USER_SAYS: &str = "Order 1001 is broken. Refund it, and send another.";

/// Serves the demo's conversation.
#[derive(Args)]
pub(crate) struct Service {
    /// The demo's directory.
    #[arg(long)]
    journal: PathBuf,
    /// The simulator.
    #[arg(long)]
    endpoint: String,
    /// Which part of the story to serve.
    #[arg(long, value_enum)]
    part: Part,
    /// The flag that decides; without it a person did.
    #[arg(long)]
    decided_by: Option<String>,
}

/// Which part of the story a process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// From the beginning until only a person can go on.
    Begin,
    /// From the answer yes to the end.
    Approve,
    /// From the answer no to the end.
    Deny,
}

impl Part {
    /// As the command line spells it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Part::Begin => "begin",
            Part::Approve => "approve",
            Part::Deny => "deny",
        }
    }
}

impl Service {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let place = Place::at(self.journal);
        let agent = agent(&self.endpoint, place.witness);
        let engine = Engine::builder(place.path)
            .agent(AGENT, agent)
            .open()
            .await?;
        match self.part {
            Part::Begin => begin(&engine, screen).await?,
            Part::Approve => {
                let yes = ToolConfirmation::confirmed();
                finish(&engine, yes, self.decided_by, screen).await?;
            }
            Part::Deny => {
                let no = ToolConfirmation::denied("the parcel was never sent back");
                finish(&engine, no, self.decided_by, screen).await?;
            }
        }
        Ok(Exit::Ok)
    }
}

/// Serves a new session until all that is open waits for somebody outside; then waits to be killed.
async fn begin(engine: &Engine, screen: &mut Screen) -> Result<(), Failure> {
    let session = engine
        .session(AGENT)
        .external_id("ticket-1001")
        .label("channel", "chat");
    let live = session.connect().await?;
    let mut follower = Follower::new(&live, Seq(0), screen).await?;
    live.send_text(USER_SAYS).await?;
    let waits = |session: &Session, turns| {
        turns > 0 && is_calm(session) && session.calls.values().all(|call| waits(&call.phase))
    };
    follower.until(&live, screen, waits).await?;
    let asked = live.pending().await?;
    let request = asked
        .first()
        .ok_or_else(|| Failure::new("demo", "no approval is open"))?;
    screen.line(&format!("{CONTROL}{}", request.id))?;
    question::show_question(request, screen)?;
    screen.line(&format!("{CONTROL}"))?;
    screen.flush()?;
    // The input ends when the demo does, so this process is never left behind.
    let input = || std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    let ended = tokio::task::spawn_blocking(input).await;
    drop(ended);
    Ok(())
}

/// Goes on with the session of before: shows what waits, answers it, supplies the late result,
/// closes.
async fn finish(
    engine: &Engine,
    answer: ToolConfirmation,
    decided_by: Option<String>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let user = Actor::os_user(os_user::current()?);
    let by = user.clone().as_program("recount demo");
    let approver = match decided_by {
        Some(flag) => user.as_program(flag),
        None => user.as_person(),
    };
    let waiting = engine.pending().await?;
    let request = waiting
        .first()
        .ok_or_else(|| Failure::new("demo", "no approval is open"))?;
    screen.toned(Tone::Heading, "Still waiting, as the journal has it:")?;
    question::show(request, SystemClock.now(), screen)?;
    screen.line("")?;
    screen.flush()?;
    let head = engine.ledger().journal().head(request.session.0).await?;
    let head = Seq(head.map_or(0, |head| head.seq));
    let live = engine.resume(request.session).await?;
    let mut follower = Follower::new(&live, head, screen).await?;
    follower.tell(screen).await?;
    live.answer(request.id, answer, approver).await?;
    let refund = request.call;
    let decided = |session: &Session, turns| {
        turns > 0 && is_calm(session) && !session.calls.contains_key(&refund)
    };
    follower.until(&live, screen, decided).await?;
    let paused = live.paused().await?;
    let paused = paused
        .first()
        .ok_or_else(|| Failure::new("demo", "no call is paused"))?;
    let ticket = Ticket::from(paused);
    live.respond(&ticket, json!({"tracking": "RC-1001-2"}), by.clone())
        .await?;
    let told = |session: &Session, turns| turns > 1 && is_calm(session) && session.calls.is_empty();
    follower.until(&live, screen, told).await?;
    live.close("the demo is over", by).await?;
    live.disconnect().await?;
    follower.tell(screen).await?;
    engine.shutdown(std::time::Duration::ZERO).await?;
    Ok(())
}

/// Whether a call waits for somebody outside.
fn waits(phase: &Phase) -> bool {
    matches!(phase.waits_for(), WaitsFor::Person | WaitsFor::Response)
}
