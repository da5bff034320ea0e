//! The differences between two stories.

use std::collections::BTreeSet;

use serde::Serialize;

use super::alignment::{Aligned, align};
use super::change::Change;
use super::pairing::{self, PairScope, Turns};
use super::story::{CallTold, EventTold, Place, Story};
use crate::session::{Json, Speaker};

/// A call, as a difference names it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallNamed {
    /// The place where it was received.
    #[serde(flatten)]
    pub place: Place,
    /// The number of its turn, from 1.
    pub turn: usize,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Json,
}

/// An event that belongs to no call, as a difference names it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventNamed {
    /// The place of the event.
    #[serde(flatten)]
    pub place: Place,
    /// The number of its turn, from 1. A turn begins at the end of the turn before it.
    pub turn: usize,
    /// The kind of the event, and its content.
    pub said: String,
}

impl EventNamed {
    fn of(event: &EventTold) -> EventNamed {
        EventNamed {
            place: event.place,
            turn: event.turn + 1,
            said: event.said.clone(),
        }
    }
}

/// A difference between the first story, `a`, and the second, `b`.
///
/// ```json
/// {"difference":"decision_changed",
///  "call":{"seq":6,"turn":1,"tool":"refund","args":{"order":7}},"b":{"seq":6,…},
///  "only_a":["policy_decided {\"rule\":\"default\",\"verdict\":\"allowed\"}"],
///  "only_b":["policy_decided {\"rule\":\"confirm\",\"verdict\":\"ask\"}"]}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "difference", rename_all = "snake_case")]
pub enum Difference {
    /// A property of the whole session differs.
    SessionChanged {
        /// The property: a field of [`Story::about`].
        field: String,
        /// The value in `a`.
        a: Option<String>,
        /// The value in `b`.
        b: Option<String>,
    },
    /// A turn of `a` is not in `b`.
    TurnMissing {
        /// The turn of `a`, from 1.
        turn: usize,
        /// The words of the user.
        user: String,
    },
    /// A turn of `b` is not in `a`.
    TurnAdded {
        /// The turn of `b`, from 1.
        turn: usize,
        /// The words of the user.
        user: String,
    },
    /// The user or the model said something else.
    WordsChanged {
        /// The turn of `a`, from 1.
        turn: usize,
        /// The speaker.
        speaker: Speaker,
        /// The words in `a`.
        a: String,
        /// The words in `b`.
        b: String,
    },
    /// The turn entered other phases.
    PhasesChanged {
        /// The turn of `a`, from 1.
        turn: usize,
        /// The phases in `a`.
        a: Vec<String>,
        /// The phases in `b`.
        b: Vec<String>,
    },
    /// A turn was interrupted in one story only.
    InterruptionChanged {
        /// The turn of `a`, from 1.
        turn: usize,
        /// True if it was interrupted in `a`.
        a: bool,
        /// True if it was interrupted in `b`.
        b: bool,
    },
    /// A call of `a` is not in `b`.
    CallMissing {
        /// The call in `a`.
        call: CallNamed,
    },
    /// A call of `b` is not in `a`.
    CallAdded {
        /// The call in `b`.
        call: CallNamed,
    },
    /// A call is at another place: in another order, or in another turn.
    CallReordered {
        /// The call in `a`.
        call: CallNamed,
        /// The call in `b`.
        b: CallNamed,
        /// True if both calls are in the same turn, even if that turn has another number in `b`.
        within_turn: bool,
    },
    /// A tool was called with other arguments.
    ArgumentsChanged {
        /// The call in `a`.
        call: CallNamed,
        /// The call in `b`.
        b: CallNamed,
        /// The differences between the arguments.
        changes: Vec<Change>,
    },
    /// The tool had another policy.
    PolicyChanged {
        /// The call in `a`.
        call: CallNamed,
        /// The call in `b`.
        b: CallNamed,
        /// The differences between the policies.
        changes: Vec<Change>,
    },
    /// The decisions about a call differ.
    DecisionChanged {
        /// The call in `a`.
        call: CallNamed,
        /// The call in `b`.
        b: CallNamed,
        /// The decisions of `a` alone.
        only_a: Vec<String>,
        /// The decisions of `b` alone.
        only_b: Vec<String>,
    },
    /// The reports of a tool, a person or the clock about a call differ.
    ReportChanged {
        /// The call in `a`.
        call: CallNamed,
        /// The call in `b`.
        b: CallNamed,
        /// The reports in `a` alone.
        only_a: Vec<String>,
        /// The reports in `b` alone.
        only_b: Vec<String>,
    },
    /// An event that belongs to no call is in `a`, and not in the same turn of `b`.
    EventMissing {
        /// The event in `a`.
        event: EventNamed,
    },
    /// An event that belongs to no call is in `b`, and not in the same turn of `a`.
    EventAdded {
        /// The event in `b`.
        event: EventNamed,
    },
}

/// Returns each difference between two stories. Differences of the sessions come first, then those
/// of turns, of calls, and of other events, each in order.
pub fn differences(a: &Story, b: &Story) -> Vec<Difference> {
    let mut found = Vec::new();
    sessions(a, b, &mut found);
    let paired = Turns::of(a, b);
    turns(a, b, &paired, &mut found);
    calls(a, b, &paired, &mut found);
    events(a, b, &paired, &mut found);
    found
}

fn sessions(a: &Story, b: &Story, found: &mut Vec<Difference>) {
    let fields: BTreeSet<&String> = a.about.keys().chain(b.about.keys()).collect();
    for field in fields {
        let (a, b) = (a.about.get(field), b.about.get(field));
        if a != b {
            found.push(Difference::SessionChanged {
                field: field.clone(),
                a: a.cloned(),
                b: b.cloned(),
            });
        }
    }
}

fn turns(a: &Story, b: &Story, turns: &Turns, found: &mut Vec<Difference>) {
    for aligned in &turns.aligned {
        match *aligned {
            Aligned::OnlyA(at) => found.extend(a.turns.get(at).map(|it| Difference::TurnMissing {
                turn: at + 1,
                user: it.user.clone(),
            })),
            Aligned::OnlyB(at) => found.extend(b.turns.get(at).map(|it| Difference::TurnAdded {
                turn: at + 1,
                user: it.user.clone(),
            })),
            Aligned::Both(at, of_b) => {
                let (Some(a), Some(b)) = (a.turns.get(at), b.turns.get(of_b)) else {
                    continue;
                };
                let turn = at + 1;
                let spoken = [
                    (Speaker::User, &a.user, &b.user),
                    (Speaker::Model, &a.model, &b.model),
                ];
                for (speaker, a, b) in spoken {
                    if a != b {
                        let (a, b) = (a.clone(), b.clone());
                        found.push(Difference::WordsChanged {
                            turn,
                            speaker,
                            a,
                            b,
                        });
                    }
                }
                if a.phases != b.phases {
                    let (a, b) = (a.phases.clone(), b.phases.clone());
                    found.push(Difference::PhasesChanged { turn, a, b });
                }
                if a.interrupted != b.interrupted {
                    let (a, b) = (a.interrupted, b.interrupted);
                    found.push(Difference::InterruptionChanged { turn, a, b });
                }
            }
        }
    }
}

fn calls(a: &Story, b: &Story, turns: &Turns, found: &mut Vec<Difference>) {
    let pairs = pairing::calls(a, b, turns);
    let of_a: BTreeSet<usize> = pairs.values().map(|it| it.b).collect();
    let mut added = b.calls.iter().enumerate();
    let mut added = added
        .by_ref()
        .filter(|(at, _)| !of_a.contains(at))
        .peekable();
    for (at, call) in a.calls.iter().enumerate() {
        let Some((pair, of_b)) = pairs.get(&at).and_then(|it| Some((it, b.calls.get(it.b)?)))
        else {
            found.push(Difference::CallMissing { call: named(call) });
            continue;
        };
        if let Some(scope) = pair.moved {
            found.push(Difference::CallReordered {
                call: named(call),
                b: named(of_b),
                within_turn: scope == PairScope::Turn,
            });
        } else {
            // A call that only `b` has is listed at its place in `b`.
            while let Some((_, call)) = added.next_if(|(at, _)| *at < pair.b) {
                found.push(Difference::CallAdded { call: named(call) });
            }
        }
        same_call(call, of_b, found);
    }
    found.extend(added.map(|(_, call)| Difference::CallAdded { call: named(call) }));
}

/// Compares the events that belong to no call, turn by turn.
fn events(a: &Story, b: &Story, turns: &Turns, found: &mut Vec<Difference>) {
    for (only_a, only_b) in pairing::events(a, b, turns).values() {
        let missing = only_a.iter().filter_map(|at| a.events.get(*at));
        let added = only_b.iter().filter_map(|at| b.events.get(*at));
        found.extend(missing.map(|it| Difference::EventMissing {
            event: EventNamed::of(it),
        }));
        found.extend(added.map(|it| Difference::EventAdded {
            event: EventNamed::of(it),
        }));
    }
}

/// Compares a call that is in both stories.
fn same_call(a: &CallTold, b: &CallTold, found: &mut Vec<Difference>) {
    let both = || (named(a), named(b));
    let changes = Change::between(&a.args, &b.args);
    if !changes.is_empty() {
        let (call, b) = both();
        found.push(Difference::ArgumentsChanged { call, b, changes });
    }
    let changes = Change::between(&a.policy, &b.policy);
    if !changes.is_empty() {
        let (call, b) = both();
        found.push(Difference::PolicyChanged { call, b, changes });
    }
    let (only_a, only_b) = apart(&a.decisions, &b.decisions);
    if !(only_a.is_empty() && only_b.is_empty()) {
        let (call, b) = both();
        found.push(Difference::DecisionChanged {
            call,
            b,
            only_a,
            only_b,
        });
    }
    let (only_a, only_b) = apart(&a.reports, &b.reports);
    if !(only_a.is_empty() && only_b.is_empty()) {
        let (call, b) = both();
        found.push(Difference::ReportChanged {
            call,
            b,
            only_a,
            only_b,
        });
    }
}

/// The lines of one list that have no equal line at the same place of the other.
fn apart(a: &[String], b: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
    for aligned in align(a, b) {
        match aligned {
            Aligned::Both(_, _) => {}
            Aligned::OnlyA(at) => only_a.extend(a.get(at).cloned()),
            Aligned::OnlyB(at) => only_b.extend(b.get(at).cloned()),
        }
    }
    (only_a, only_b)
}

fn named(call: &CallTold) -> CallNamed {
    CallNamed {
        place: call.place,
        turn: call.turn + 1,
        tool: call.tool.clone(),
        args: call.args.clone(),
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]
#[path = "difference_tests.rs"]
mod tests;
