//! The process that the demo kills. It serves the conversation like any other service.
//!
//! It prints the timeline. A line that begins with [`CONTROL`] is for the demo.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::place::Place;
use super::tools::{AGENT, agent};
use crate::failures::{Exit, Failure};
use crate::journal::os_user;
use crate::telling::{Follower, is_calm, question};
use crate::terminal::{Screen, Tone};
use recount::engine::{Clock, Engine, LiveHandle, SystemClock, Ticket, ToolConfirmation};
use recount::session::{Actor, Phase, Seq, Session, WaitsFor};

/// The first character of a line for the demo. No timeline has it.
pub(super) const CONTROL: char = '\u{1e}';

/// The words of the user.
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
    /// The part of the story to serve.
    #[arg(long, value_enum)]
    part: Part,
    /// The flag that decides; without it a person did.
    #[arg(long)]
    decided_by: Option<String>,
}

/// The part of the story that a process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// From the beginning until every call waits for a person.
    Begin,
    /// From an approval to the end.
    Approve,
    /// From a denial to the end.
    Deny,
}

impl Part {
    /// The spelling on the command line.
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

/// Serves a new session until every open call waits for an answer from outside, then waits to be
/// killed.
async fn begin(engine: &Engine, screen: &mut Screen) -> Result<(), Failure> {
    let live = converse(engine).await?;
    let mut follower = Follower::new(&live, Seq(0), screen).await?;
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
    // The input ends with the demo, so this process never outlives it.
    let input = || std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    let ended = tokio::task::spawn_blocking(input).await;
    drop(ended);
    Ok(())
}

/// Begins the conversation: the user asks for the refund.
pub(super) async fn converse(engine: &Engine) -> Result<LiveHandle, Failure> {
    let session = engine
        .session(AGENT)
        .external_id("ticket-1001")
        .label("channel", "chat");
    let live = session.connect().await?;
    live.send_text(USER_SAYS).await?;
    Ok(live)
}

/// Resumes the session: shows the open request, answers it, supplies the late result, closes.
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
    screen.toned(Tone::Heading, "Still waiting in the journal:")?;
    question::show(request, SystemClock.now(), screen)?;
    screen.line("")?;
    screen.flush()?;
    let head = engine.ledger().journal().head(request.session.0).await?;
    let head = Seq(head.map_or(0, |head| head.seq));
    let live = engine.resume(request.session).await?;
    let mut follower = Follower::new(&live, head, screen).await?;
    follower.show_new(screen).await?;
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
    let is_told =
        |session: &Session, turns| turns > 1 && is_calm(session) && session.calls.is_empty();
    follower.until(&live, screen, is_told).await?;
    live.close("the demo is over", by).await?;
    live.disconnect().await?;
    follower.show_new(screen).await?;
    engine.shutdown(std::time::Duration::ZERO).await?;
    Ok(())
}

/// True if a call waits for an answer or a result from outside.
fn waits(phase: &Phase) -> bool {
    matches!(phase.waits_for(), WaitsFor::Person | WaitsFor::Response)
}
