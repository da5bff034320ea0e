//! The checks of the demo, in the journal, in refunds.txt and in the messages to the model.

use std::collections::BTreeMap;

use recount_journal::verify;
use serde_json::Value;
use uuid::Uuid;

use super::place::Place;
use super::tools::{REFUND, SHIP};
use crate::failures::Failure;
use crate::journal::opening;
use recount::ledger::Ledger;
use recount::replay;
use recount::session::{Decision, Event, Fact, Observation, Outcome, Seq, SessionId};
use recount::simulator::{ConnectionId, Standing, Transcript};
use recount_telling::count;

/// The result of every check, and the numbers of the summary.
#[derive(Default)]
pub(super) struct Findings {
    /// Each claim, with a flag that is true if the claim holds.
    pub(super) checks: Vec<(bool, String)>,
    /// The session.
    pub(super) session: Option<SessionId>,
    /// Its events.
    pub(super) events: usize,
    /// The number of starts of tools.
    pub(super) executions: usize,
    /// The number of killed processes that the journal noticed.
    pub(super) restarts: usize,
}

impl Findings {
    /// Runs every check.
    pub(super) async fn gather(
        place: &Place,
        approved: bool,
        received: &Transcript,
    ) -> Result<Findings, Failure> {
        let mut findings = Findings::default();
        // Verifying locks the journal, so it comes first.
        let report = verify::directory(&place.path)?;
        let verified = match report.findings.first() {
            None => format!(
                "the journal verifies: {} records, every hash holds",
                report.records
            ),
            Some(finding) => format!("the journal verifies: {finding}"),
        };
        let ledger = opening::reading_directory(&place.path)?;
        let session = match ledger.sessions().await?.as_slice() {
            [one] => one.id,
            several => {
                let what = format!(
                    "expected one session in the journal, found {}",
                    several.len()
                );
                return Err(Failure::new("demo", what));
            }
        };
        findings.session = Some(session);
        let facts = ledger.facts(session, Seq(1), usize::MAX).await?;
        findings.events = facts.len();
        findings.executions = started(&facts, |_| true);
        findings.restarts = unclean_ends(&ledger).await?;
        findings.runs(place, &facts, approved)?;
        findings
            .outcomes(&ledger, session, &facts, approved)
            .await?;
        findings.messages(received);
        let restarts = findings.restarts;
        findings.check(
            restarts == 1,
            format!(
                "the journal noticed the killed process: {}",
                count(restarts, "unclean end")
            ),
        );
        findings.check(report.is_sound(), verified);
        findings.replayed(&ledger, session).await?;
        Ok(findings)
    }

    /// True if every claim holds.
    pub(super) fn all_hold(&self) -> bool {
        self.checks.iter().all(|(holds, _)| *holds)
    }

    fn check(&mut self, holds: bool, claim: impl Into<String>) {
        self.checks.push((holds, claim.into()));
    }

    /// Checks that the journal and refunds.txt agree on the number of refunds.
    fn runs(&mut self, place: &Place, facts: &[Fact], approved: bool) -> Result<(), Failure> {
        let names = called(facts);
        let starts = started(facts, |call| {
            names.get(&call).is_some_and(|name| name == REFUND)
        });
        let lines = place.witnessed()?.len();
        let expected = usize::from(approved);
        let claim = if approved {
            "the refund ran once"
        } else {
            "the refund never ran"
        };
        let text = format!(
            "{claim}: {} recorded, {} in refunds.txt",
            count(starts, "start"),
            count(lines, "line")
        );
        self.check(starts == expected && lines == expected, text);
        Ok(())
    }

    /// Checks that every call has ended once, with the expected outcome.
    async fn outcomes(
        &mut self,
        ledger: &Ledger,
        session: SessionId,
        facts: &[Fact],
        approved: bool,
    ) -> Result<(), Failure> {
        let folded = ledger.load(session).await?.session;
        let names = called(facts);
        let ended: BTreeMap<&str, Outcome> = folded
            .settled
            .iter()
            .filter_map(|(seq, it)| Some((names.get(seq)?.as_str(), it.outcome)))
            .collect();
        let refund = if approved {
            Outcome::Returned
        } else {
            Outcome::Denied
        };
        let expected = BTreeMap::from([
            ("lookup_order", Outcome::Returned),
            ("charge_restocking_fee", Outcome::Failed),
            (REFUND, refund),
            (SHIP, Outcome::Supplied),
        ]);
        let ends = facts.iter().filter(|fact| ends_a_call(fact)).count();
        let holds = ended == expected && ends == expected.len() && folded.calls.is_empty();
        self.check(
            holds,
            format!(
                "{} calls, {ends} outcomes: each call ended once",
                names.len()
            ),
        );
        Ok(())
    }

    /// Checks the messages to the model that the simulator received.
    fn messages(&mut self, received: &Transcript) {
        let (first, second) = (ConnectionId(1), ConnectionId(2));
        let answered = |id: &str| {
            received.answers().any(|(connection, answer, standing)| {
                connection == first
                    && answer.id.as_deref() == Some(id)
                    && standing == Standing::Accepted
            })
        };
        let at_once = answered("call-lookup") && answered("call-fee");
        self.check(
            at_once,
            "the model got two responses on the connection of the calls",
        );
        let said = |tool: &str| {
            let about = format!("{tool}(");
            received
                .told()
                .filter(|(connection, _)| *connection == second)
                .filter(|(_, text)| text.starts_with("[tool outcome]") && text.contains(&about))
                .count()
        };
        let later = said(REFUND) == 1 && said(SHIP) == 1;
        let no_stray_answers = !received
            .answers()
            .any(|(connection, ..)| connection == second);
        self.check(
            later && no_stray_answers,
            "the model got the other two as text on the new connection",
        );
    }

    async fn replayed(&mut self, ledger: &Ledger, session: SessionId) -> Result<(), Failure> {
        let report = replay::verify(ledger, session).await?;
        let text = match &report.diverged {
            None => format!(
                "the journal replays: {} observations, the same {} decisions",
                report.observations, report.decisions
            ),
            Some(diverged) => format!("the journal replays: it diverges at seq {}", diverged.seq),
        };
        self.check(report.diverged.is_none(), text);
        Ok(())
    }
}

/// The tool of each call.
fn called(facts: &[Fact]) -> BTreeMap<Seq, String> {
    let name = |fact: &Fact| match &fact.event {
        Event::Observed(Observation::FunctionCallReceived(it)) => {
            Some((fact.seq, it.name.clone().unwrap_or_default()))
        }
        Event::Observed(_) | Event::Decided(_) => None,
    };
    facts.iter().filter_map(name).collect()
}

/// The number of starts of the calls for which `wanted` is true.
fn started(facts: &[Fact], wanted: impl Fn(Seq) -> bool) -> usize {
    let starts = |fact: &&Fact| match &fact.event {
        Event::Decided(Decision::CallStarted(it)) => wanted(it.call),
        Event::Decided(_) | Event::Observed(_) => false,
    };
    facts.iter().filter(starts).count()
}

fn ends_a_call(fact: &Fact) -> bool {
    match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => it.outcome != Outcome::Interim,
        Event::Decided(Decision::CallCancelled(_)) => true,
        Event::Decided(_) | Event::Observed(_) => false,
    }
}

/// The number of times that the journal was opened after a process had not closed it.
async fn unclean_ends(ledger: &Ledger) -> Result<usize, Failure> {
    let lines = ledger.journal().read(Uuid::nil(), 1, usize::MAX).await?;
    let after_a_crash = |line: &recount_journal::Line| {
        let body = line
            .record()
            .ok()
            .map(|it| serde_json::from_str::<Value>(it.body.get()));
        matches!(body, Some(Ok(body)) if body.get("after").and_then(Value::as_str) == Some("crash"))
    };
    Ok(lines.iter().filter(|line| after_a_crash(line)).count())
}
