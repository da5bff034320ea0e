//! What two stories do not have in common.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::alignment::{Aligned, align};
use super::change::Change;
use super::story::{CallTold, Place, Story};
use crate::session::{Json, Speaker};

/// A call as a difference names it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallNamed {
    /// Where it was received.
    #[serde(flatten)]
    pub place: Place,
    /// Its turn, from 1.
    pub turn: usize,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Json,
}

/// One thing in which the second story, `b`, is not the first, `a`.
///
/// ```json
/// {"difference":"decision_changed","call":{"seq":6,"turn":1,"tool":"refund","args":{"order":7}},"b":{"seq":6,…},
///  "only_a":["policy_decided {\"rule\":\"default\",\"verdict\":\"allowed\"}"],
///  "only_b":["policy_decided {\"rule\":\"confirm\",\"verdict\":\"ask\"}"]}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "difference", rename_all = "snake_case")]
pub enum Difference {
    /// The sessions as a whole are not alike.
    SessionChanged {
        /// In what: a field of [`Story::about`].
        field: String,
        /// In `a`.
        a: Option<String>,
        /// In `b`.
        b: Option<String>,
    },
    /// A turn of `a` is not in `b`.
    TurnMissing {
        /// The turn of `a`, from 1.
        turn: usize,
        /// What the user said.
        user: String,
    },
    /// A turn of `b` is not in `a`.
    TurnAdded {
        /// The turn of `b`, from 1.
        turn: usize,
        /// What the user said.
        user: String,
    },
    /// Somebody said something else.
    WordsChanged {
        /// The turn of `a`, from 1.
        turn: usize,
        /// Who.
        speaker: Speaker,
        /// In `a`.
        a: String,
        /// In `b`.
        b: String,
    },
    /// Other phases were entered.
    PhasesChanged {
        /// The turn of `a`, from 1.
        turn: usize,
        /// In `a`.
        a: Vec<String>,
        /// In `b`.
        b: Vec<String>,
    },
    /// A turn was cut short in one of them.
    InterruptionChanged {
        /// The turn of `a`, from 1.
        turn: usize,
        /// In `a`.
        a: bool,
        /// In `b`.
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
    /// A call comes elsewhere.
    CallReordered {
        /// The call in `a`.
        call: CallNamed,
        /// In `b`.
        b: CallNamed,
    },
    /// A tool was called with other arguments.
    ArgumentsChanged {
        /// The call in `a`.
        call: CallNamed,
        /// In `b`.
        b: CallNamed,
        /// Where they differ.
        changes: Vec<Change>,
    },
    /// The tool had another policy.
    PolicyChanged {
        /// The call in `a`.
        call: CallNamed,
        /// In `b`.
        b: CallNamed,
        /// Where they differ.
        changes: Vec<Change>,
    },
    /// Something else was decided about a call.
    DecisionChanged {
        /// The call in `a`.
        call: CallNamed,
        /// In `b`.
        b: CallNamed,
        /// The decisions of `a` alone.
        only_a: Vec<String>,
        /// The decisions of `b` alone.
        only_b: Vec<String>,
    },
    /// A tool, a person or the clock said something else about a call.
    ReportChanged {
        /// The call in `a`.
        call: CallNamed,
        /// In `b`.
        b: CallNamed,
        /// What was reported in `a` alone.
        only_a: Vec<String>,
        /// What was reported in `b` alone.
        only_b: Vec<String>,
    },
}

/// Every difference between two stories: first of the sessions, then of the turns, then of the calls, each in their order.
pub fn differences(a: &Story, b: &Story) -> Vec<Difference> {
    let mut found = Vec::new();
    sessions(a, b, &mut found);
    turns(a, b, &mut found);
    calls(a, b, &mut found);
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

fn turns(a: &Story, b: &Story, found: &mut Vec<Difference>) {
    let (keys_a, keys_b) = (turn_keys(a), turn_keys(b));
    // A turn without an equal is the one in its place, or none.
    for aligned in align(&keys_a, &keys_b, |_, _| true) {
        match aligned {
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

/// What turns are known by: what the user said, and which tools were called.
fn turn_keys(story: &Story) -> Vec<(String, Vec<String>)> {
    let of_user = |turn: &super::story::Turn| (turn.user.trim().to_owned(), Vec::new());
    let mut keys: Vec<(String, Vec<String>)> = story.turns.iter().map(of_user).collect();
    for call in &story.calls {
        if let Some((_, tools)) = keys.get_mut(call.turn) {
            tools.push(call.tool.clone());
        }
    }
    keys
}

fn calls(a: &Story, b: &Story, found: &mut Vec<Difference>) {
    let key = |call: &CallTold| (call.tool.clone(), call.args.canonical());
    let keys_a: Vec<_> = a.calls.iter().map(key).collect();
    let keys_b: Vec<_> = b.calls.iter().map(key).collect();
    // What is equal belongs together, wherever it stands; only what is left is paired by its tool.
    let moved = moved(&keys_a, &keys_b);
    let tool = |of: &Story, at: usize| of.calls.get(at).map(|it| it.tool.clone());
    let come: BTreeSet<usize> = moved.values().copied().collect();
    let stays = |at: usize, of_b: usize| !moved.contains_key(&at) && !come.contains(&of_b);
    let aligned = align(&keys_a, &keys_b, |at, of_b| {
        stays(at, of_b) && tool(a, at) == tool(b, of_b)
    });
    for it in aligned {
        match it {
            Aligned::OnlyA(at) => {
                let Some(call) = a.calls.get(at) else {
                    continue;
                };
                match moved.get(&at) {
                    Some(to) => {
                        let Some(of_b) = b.calls.get(*to) else {
                            continue;
                        };
                        let (call_named, b_named) = (named(call), named(of_b));
                        found.push(Difference::CallReordered {
                            call: call_named,
                            b: b_named,
                        });
                        same_call(call, of_b, found);
                    }
                    None => found.push(Difference::CallMissing { call: named(call) }),
                }
            }
            Aligned::OnlyB(at) if come.contains(&at) => {}
            Aligned::OnlyB(at) => {
                let call = b.calls.get(at).map(named);
                found.extend(call.map(|call| Difference::CallAdded { call }));
            }
            Aligned::Both(at, of_b) => {
                if let (Some(call), Some(of_b)) = (a.calls.get(at), b.calls.get(of_b)) {
                    same_call(call, of_b, found);
                }
            }
        }
    }
}

/// What stands elsewhere on the other side: the places of `a` with those of `b`.
fn moved<K: Ord + std::hash::Hash>(keys_a: &[K], keys_b: &[K]) -> BTreeMap<usize, usize> {
    let aligned = align(keys_a, keys_b, |_, _| false);
    let mut elsewhere: BTreeMap<&K, Vec<usize>> = BTreeMap::new();
    for it in aligned.iter().rev() {
        if let Aligned::OnlyB(at) = it
            && let Some(key) = keys_b.get(*at)
        {
            elsewhere.entry(key).or_default().push(*at);
        }
    }
    let mut moved = BTreeMap::new();
    for it in &aligned {
        if let Aligned::OnlyA(at) = it
            && let Some(to) = keys_a.get(*at).and_then(|key| elsewhere.get_mut(key))
            && let Some(to) = to.pop()
        {
            moved.insert(*at, to);
        }
    }
    moved
}

/// In what one call, which both have, differs.
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

/// The lines that only one of two lists has, or has elsewhere.
fn apart(a: &[String], b: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
    for aligned in align(a, b, |_, _| false) {
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
