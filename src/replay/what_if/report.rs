//! What came of deciding a session again under other policies.

use std::collections::BTreeSet;
use std::fmt;

use crate::session::{About, Decision, Outcome, Rule, Seq, SessionId, Timestamp, Verdict};

/// A session, decided again under other policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// The tools that were declared in it.
    pub tools: BTreeSet<String>,
    /// Its calls, in the order in which they came.
    pub calls: Vec<CallReport>,
}

/// One call: what is on record, and what would have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallReport {
    /// Its `function_call_received`.
    pub call: Seq,
    /// When it came.
    pub at: Timestamp,
    /// The tool that was called; empty where the model named none.
    pub tool: String,
    /// What is on record.
    pub recorded: Told,
    /// What would have been, as far as the record tells.
    pub under: Told,
    /// What the record does not tell of it, if there is something.
    pub unknown: Option<Unknown>,
    /// The first call before it of which the model had heard what it would not have heard: it is
    /// decided as if the model had made it all the same.
    pub heard: Option<Seq>,
}

/// What is said of a call, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What the policies say to it; absent where they were not asked, or where nobody can tell. A
    /// gate that was waived or that the program opened allows.
    pub verdict: Option<Verdict>,
    /// The rule that says it.
    pub rule: Option<Rule>,
    /// Why, in words, where there are some.
    pub reason: Option<String>,
    /// Where it stands at the end of the record.
    pub standing: Standing,
    /// How often its tool was started; absent where nobody can tell.
    pub attempts: Option<u32>,
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It was received.
    #[default]
    Received,
    /// A person is asked.
    Asked,
    /// It may start.
    Ready,
    /// It was started and has not ended.
    Started,
    /// It ended.
    Ended(Outcome),
    /// Nobody can tell.
    Unknown,
}

/// Why the record does not tell what would have become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Its verdict depends on what another call would have come to.
    DependsOn(Seq),
    /// A person would have been asked, and nobody was.
    NobodyAsked,
    /// A person would have had longer to answer.
    AskedLonger,
    /// Its tool would have run, and no such run is on record.
    NoRun,
    /// Its tool would have had longer to run.
    RunsOn,
    /// The program would have been asked about it, and was not.
    ProgramNotAsked,
    /// Its tool ran with what a person gave, and nobody would have been asked for it.
    WithoutAnswer,
    /// It would stand where it does not on record.
    Elsewhere,
}

impl CallReport {
    /// Whether anything would have been otherwise, or cannot be told.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let counts = |it: &Told| (it.verdict, it.rule, it.standing, it.attempts);
        self.unknown.is_some() || counts(&self.recorded) != counts(&self.under)
    }
}

impl Told {
    /// Takes note of a decision about the call.
    pub(super) fn note(&mut self, decision: &Decision) {
        match decision {
            Decision::PolicyDecided(it) => {
                self.verdict = Some(it.verdict);
                self.rule = Some(it.rule);
                self.reason.clone_from(&it.reason);
            }
            Decision::GateWaived(it) => {
                self.verdict = Some(Verdict::Allowed);
                self.reason = Some(format!("the gate was waived: {}", it.reason));
            }
            Decision::ConfirmationRequested(it) => self.asked(it.about),
            Decision::ConfirmationReopened(it) => self.asked(it.question.about),
            Decision::CallReady(_) => {
                if self.verdict == Some(Verdict::AskProgram) {
                    self.verdict = Some(Verdict::Allowed);
                }
                self.standing = Standing::Ready;
            }
            Decision::CallStarted(_) => self.standing = Standing::Started,
            Decision::CallCancelled(_) => self.standing = Standing::Ended(Outcome::Withdrawn),
            Decision::ResponseIssued(it) => {
                if it.outcome != Outcome::Interim {
                    self.standing = Standing::Ended(it.outcome);
                }
            }
            Decision::ConfirmationExpired(_)
            | Decision::ConfirmationWithdrawn(_)
            | Decision::ResultReused(_)
            | Decision::BackgroundSpawned(_)
            | Decision::RetryScheduled(_)
            | Decision::OutcomeReconciled(_)
            | Decision::DeliveryChosen(_)
            | Decision::PhaseEntered(_) => {}
        }
    }

    fn asked(&mut self, about: About) {
        if about == About::Gate {
            self.verdict = Some(Verdict::Ask);
            self.rule = Some(Rule::Confirm);
        }
        self.standing = Standing::Asked;
    }
}

impl Standing {
    /// Whether it is an end.
    #[must_use]
    pub fn is_end(self) -> bool {
        match self {
            Standing::Ended(_) => true,
            Standing::Received
            | Standing::Asked
            | Standing::Ready
            | Standing::Started
            | Standing::Unknown => false,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::DependsOn(call) => write!(f, "depends on what call {call} would have come to"),
            Unknown::NobodyAsked => f.write_str("a person would have been asked, and nobody was"),
            Unknown::AskedLonger => f.write_str("a person would have had longer to answer"),
            Unknown::NoRun => f.write_str("the tool would have run, and no such run is on record"),
            Unknown::RunsOn => f.write_str("the tool would have had longer to run"),
            Unknown::ProgramNotAsked => {
                f.write_str("the program would have been asked, and it was not")
            }
            Unknown::WithoutAnswer => f.write_str(
                "the tool ran with what a person gave, and nobody would have been asked for it",
            ),
            Unknown::Elsewhere => f.write_str("it would stand where it does not on record"),
        }
    }
}
