//! The steps of the demo: each is shown as it happens, and checked at the end.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Instant;

use clap::Args;

use super::checks::Findings;
use super::child::Process;
use super::place::Place;
use super::service::Part;
use crate::failures::{Exit, Failure};
use crate::journal::opening;
use crate::terminal::{Screen, Tone, prompt};
use recount::ledger::PendingConfirmation;
use recount::simulator::{Running, Script, Simulator};
use recount_telling::count;

/// The script of the simulated model. It is part of the program, so the demo needs no file.
const SCRIPT: &str = include_str!("script.jsonl");

/// Shows a conversation that outlives its process; needs no network and no files.
///
/// A simulated model calls four tools. While one of them waits for your approval, the serving
/// process is killed with SIGKILL; another process opens the journal and continues. Everything is
/// checked at the end.
#[derive(Args)]
pub(crate) struct Demo {
    /// The directory for the journal; that of an earlier demo is replaced, any other is refused.
    #[arg(long, value_name = "DIR", default_value = "recount-demo")]
    journal: PathBuf,
    /// Approves the refund without asking.
    #[arg(long, conflicts_with = "deny")]
    approve: bool,
    /// Denies the refund without asking.
    #[arg(long)]
    deny: bool,
    /// Serves the conversation on 127.0.0.1 and prints a link: the approval is a click in the
    /// browser.
    #[cfg(feature = "serve")]
    #[arg(long, conflicts_with_all = ["approve", "deny"])]
    ui: bool,
}

impl Demo {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let began = Instant::now();
        let place = Place::at(self.journal.clone());
        place.prepare()?;
        let simulator = Simulator::start(Script::parse(SCRIPT)?)
            .listen("127.0.0.1:0")
            .await?;
        #[cfg(feature = "serve")]
        if self.ui {
            let url = simulator.url();
            return super::ui::serve(&place, simulator, &url, screen).await;
        }
        introduce(&place, &simulator, screen)?;

        let mut first = Process::start(&place, &simulator.url(), Part::Begin, None, screen)?;
        heading(
            screen,
            1,
            &format!("Process {} serves the conversation", first.id()),
        )?;
        let request = first.until_it_waits(screen).await?;

        heading(screen, 2, "An approver decides")?;
        first.until_it_waits(screen).await?;
        let decided = self.decide(screen).await?;
        let approved = decided.approved;

        heading(
            screen,
            3,
            &format!("SIGKILL for process {}, the request still open", first.id()),
        )?;
        let status = first.kill().await?;
        left_behind(&place, &request, status, screen).await?;

        let part = if approved { Part::Approve } else { Part::Deny };
        let second = Process::start(&place, &simulator.url(), part, decided.flag, screen)?;
        heading(
            screen,
            4,
            &format!("Process {} resumes the session", second.id()),
        )?;
        second.until_it_ends(screen).await?;

        heading(screen, 5, "Checks")?;
        let findings = Findings::gather(&place, approved, &simulator.transcript()).await?;
        simulator.shutdown().await;
        // The time in which a person decides does not count.
        conclude(
            &findings,
            &place,
            began.elapsed().saturating_sub(decided.after),
            screen,
        )
    }

    /// Asks the person at the terminal, unless a flag decides.
    async fn decide(&self, screen: &mut Screen) -> Result<Decided, Failure> {
        let began = Instant::now();
        let (approved, why, flag) = match (self.approve, self.deny) {
            (true, _) => (
                true,
                "Approved, as --approve says.",
                "recount demo --approve",
            ),
            (false, true) => (false, "Denied, as --deny says.", "recount demo --deny"),
            (false, false) if prompt::is_interactive() => {
                screen.flush()?;
                return Ok(Decided {
                    approved: prompt::yes_or_no("Approve the refund?").await?,
                    flag: None,
                    after: began.elapsed(),
                });
            }
            (false, false) => (
                true,
                "Approved, because there is no terminal to ask on (--deny denies it).",
                "recount demo without a terminal",
            ),
        };
        screen.line(why)?;
        screen.flush()?;
        Ok(Decided {
            approved,
            flag: Some(flag),
            after: began.elapsed(),
        })
    }
}

/// The decision about the demo's refund.
struct Decided {
    approved: bool,
    /// The flag that decided instead of a person.
    flag: Option<&'static str>,
    /// The time until the decision.
    after: std::time::Duration,
}

fn introduce(place: &Place, simulator: &Running, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Heading, "A conversation that outlives its process")?;
    screen.line(&format!("  model    {}, simulated", simulator.url()))?;
    screen.line(&format!("  journal  {}", place.path.display()))?;
    screen.line("  tools    lookup_order, refund (requires approval), ship_replacement (takes")?;
    screen.line("           long), charge_restocking_fee (fails)")
}

fn heading(screen: &mut Screen, number: u32, text: &str) -> Result<(), Failure> {
    screen.line("")?;
    screen.toned(Tone::Heading, &format!("{number}. {text}"))?;
    screen.flush()
}

/// Checks the state after the kill: a journal with an open request, and no refund.
async fn left_behind(
    place: &Place,
    request: &str,
    status: ExitStatus,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let ledger = opening::reading_directory(&place.path)?;
    let waiting: Vec<PendingConfirmation> = ledger.pending().await?;
    let refunds = place.witnessed()?.len();
    let open = waiting
        .iter()
        .filter(|it| it.id.to_string() == request)
        .count();
    if status.success() || open != 1 || refunds != 0 {
        let what = format!(
            "expected a killed process, 1 open request and no refund, found {status}, {open} \
             and {refunds}"
        );
        return Err(Failure::new("demo", what));
    }
    screen.line(&format!("The process ended with {status}."))?;
    screen.line("The journal has the open request; refunds.txt has no line.")
}

fn conclude(
    findings: &Findings,
    place: &Place,
    took: std::time::Duration,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    for (holds, claim) in &findings.checks {
        let (mark, tone) = if *holds {
            ("✓", Tone::Good)
        } else {
            ("✗", Tone::Bad)
        };
        screen.toned(tone, &format!("{mark} {claim}"))?;
    }
    if !findings.all_hold() {
        return Err(
            Failure::new("demo", "expected every line above to hold, found ✗")
                .advice("this is a fault of recount; please report it with the journal"),
        );
    }
    let Findings {
        events,
        executions,
        restarts,
        ..
    } = findings;
    screen.line("")?;
    let summary = format!(
        "{}, {}, {}, consistent, not anchored, replayed, {:.1} s",
        count(*events, "event"),
        count(*executions, "execution"),
        count(*restarts, "restart"),
        took.as_secs_f32()
    );
    screen.toned(Tone::Heading, &summary)?;
    screen.line("")?;
    screen.line("More about this session:")?;
    let program = std::env::args()
        .next()
        .unwrap_or_else(|| "recount".to_owned());
    let (path, session) = (place.quoted(), findings.session.map(|it| it.to_string()));
    let session: String = session.unwrap_or_default().chars().take(8).collect();
    for command in [
        format!("log {path} {session}"),
        format!("log {path} {session} --json"),
        format!("export {path} --out demo.jsonl"),
        "verify demo.jsonl".to_owned(),
        format!("replay {path}"),
    ] {
        screen.line(&format!("  {program} {command}"))?;
    }
    Ok(Exit::Ok)
}
