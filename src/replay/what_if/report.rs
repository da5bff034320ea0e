//! The result of a what-if analysis.

use std::collections::BTreeSet;
use std::fmt;

use crate::session::{About, Decision, Outcome, Rule, Seq, SessionId, Timestamp, Verdict};

/// A session, decided again under other policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// The tools that were declared in the session.
    pub tools: BTreeSet<String>,
    /// The calls, in the order in which they were received.
    pub calls: Vec<CallReport>,
}

/// A call: its recorded course, and its course under the other policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallReport {
    /// The seq of its `function_call_received`.
    pub call: Seq,
    /// The time at which it was received.
    pub at: Timestamp,
    /// The tool that was called. Empty if the model named none.
    pub tool: String,
    /// The recorded course.
    pub recorded: Told,
    /// The course under the other policies, as far as it is known.
    pub under: Told,
    /// The reason why the course is partly unknown, if it is.
    pub unknown: Option<Unknown>,
    /// The first earlier call about which the model would have received another response. The
    /// analysis assumes that the model made this call all the same.
    pub heard: Option<Seq>,
}

/// The verdict about a call, and its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The verdict of the policies. `None` if they were not asked, or the verdict is unknown. A
    /// gate that was waived, or that the program opened, counts as allowed.
    pub verdict: Option<Verdict>,
    /// The rule that decided.
    pub rule: Option<Rule>,
    /// The reason in words, if there is one.
    pub reason: Option<String>,
    /// The status at the end of the record.
    pub standing: Standing,
    /// The number of starts of its tool. `None` if it is unknown.
    pub attempts: Option<u32>,
}

/// The status of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The call was received.
    #[default]
    Received,
    /// A person is asked.
    Asked,
    /// The call may start.
    Ready,
    /// The call was started and has not ended.
    Started,
    /// The call ended.
    Ended(Outcome),
    /// The status is unknown.
    Unknown,
}

/// The reason why the outcome of a call is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The verdict depends on the unknown outcome of another call.
    DependsOn(Seq),
    /// A person would have been asked, but was not.
    NobodyAsked,
    /// This number of approvals would have been missing, because the recorded answers do not
    /// suffice or are not by people who may approve.
    ApprovalsMissing(u32),
    /// A person would have had more time to answer.
    AskedLonger,
    /// The tool would have run, but no such run is recorded.
    NoRun,
    /// The tool would have had more time to run.
    RunsOn,
    /// The program would have been asked, but was not.
    ProgramNotAsked,
    /// The tool ran with data of a person, who would not have been asked.
    WithoutAnswer,
    /// The recorded approval would have been refused, because its approver had given as many in a
    /// minute as allowed.
    ApprovedTooFast,
    /// The call would have another status than the recorded one.
    Elsewhere,
}

impl CallReport {
    /// True if the call would have gone differently, or is partly unknown.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let counts = |it: &Told| (it.verdict, it.rule, it.standing, it.attempts);
        self.unknown.is_some() || counts(&self.recorded) != counts(&self.under)
    }
}

impl Told {
    /// Applies a decision about the call.
    pub(super) fn note(&mut self, decision: &Decision) {
        match decision {
            Decision::PolicyDecided(it) => {
                self.verdict = Some(it.verdict);
                self.rule = Some(it.rule);
                self.reason.clone_from(&it.reason);
            }
            // The verdict stays that a person was asked: without an answer in time, the call runs.
            Decision::GateWaived(it) if it.unanswered.is_some() => {
                self.reason = Some(it.reason.clone());
            }
            Decision::GateWaived(it) => {
                self.verdict = Some(Verdict::Allowed);
                self.reason = Some(format!("the gate was waived: {}", it.reason));
            }
            Decision::LeaveUsed(it) => {
                self.verdict = Some(Verdict::Allowed);
                let nth = it.in_words();
                self.reason = Some(format!(
                    "a standing leave of seq {} allows it{nth}",
                    it.leave
                ));
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

impl Unknown {
    /// True if the call may still wait for approval under the other policies.
    pub(super) fn may_still_wait(self) -> bool {
        match self {
            Unknown::DependsOn(_)
            | Unknown::NobodyAsked
            | Unknown::ApprovalsMissing(_)
            | Unknown::AskedLonger
            | Unknown::ApprovedTooFast => true,
            Unknown::NoRun
            | Unknown::RunsOn
            | Unknown::ProgramNotAsked
            | Unknown::WithoutAnswer
            | Unknown::Elsewhere => false,
        }
    }
}

impl Standing {
    /// True if the call has ended.
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
            Unknown::ApprovalsMissing(missing) => write!(
                f,
                "the answers on record would not have sufficed; approvals missing: {missing}"
            ),
            Unknown::AskedLonger => f.write_str("a person would have had longer to answer"),
            Unknown::NoRun => f.write_str("the tool would have run, and no such run is on record"),
            Unknown::RunsOn => f.write_str("the tool would have had longer to run"),
            Unknown::ProgramNotAsked => {
                f.write_str("the program would have been asked, and it was not")
            }
            Unknown::WithoutAnswer => f.write_str(
                "the tool ran with what a person gave, and nobody would have been asked for it",
            ),
            Unknown::ApprovedTooFast => {
                f.write_str("the approval would have been one too many in a minute")
            }
            Unknown::Elsewhere => f.write_str("it would stand where it does not on record"),
        }
    }
}
