//! The terms of the runners in a history, from dice: tools present or absent, changed or reworded,
//! and every policy.

use std::time::Duration;

use recount_session::catalog::ToolKind;
use recount_session::testing::{Toolbox, toolbox};
use recount_session::{
    Approvers, Comparison, Condition, Edits, FunctionResponseScheduling, InDoubt, Limits,
    OnSettled, Person, PhaseDeclaration, Progress, S, Transition,
};

/// The tools that a runner may have.
pub(crate) const NAMES: [&str; 3] = ["look", "pay", "order"];

/// The agent that a runner may have; it may call all of them.
pub(crate) const CLERK: &str = "clerk";

/// The phases that a runner may declare.
const PHASES: [&str; 3] = ["greet", "verify", "settle"];

/// The keys that guards and conditions read. One of them is an alias.
pub(crate) const KEYS: [&str; 4] = ["a", "b", "turn:t", "session:b"];

/// The dice of a runner: four for each tool, one for all of them, and one for the phases.
pub(crate) type Dice = [u8; 14];

/// Returns the tools of a runner by its dice.
pub(crate) fn tools_of(dice: Dice) -> Toolbox {
    let mut tools = toolbox();
    for (tool, name) in NAMES.into_iter().enumerate() {
        let at = |die: usize| dice[4 * tool + die];
        let (shape, rules) = (at(0), at(1));
        if shape % 8 == 7 {
            continue;
        }
        tools = match shape % 8 {
            0..=4 => tools.plain(name),
            5 => tools.plain(name).reworded(name),
            _ => tools.plain(name).changed(name),
        };
        tools = tools.policy(name, |policy| {
            policy.in_doubt = match rules % 3 {
                0 => InDoubt::SettleUnknown,
                1 => InDoubt::Retry,
                _ => InDoubt::Ask,
            };
            policy.withdraw_on_cancel = rules & 64 != 0;
            policy.timeout = (rules & 32 != 0).then_some(Duration::from_millis(4));
            policy.acknowledge_after = match rules / 64 {
                2 => Some(Duration::from_millis(3)),
                3 => Some(Duration::from_millis(12)),
                _ => None,
            };
            policy.progress = match rules / 4 % 4 {
                0 => Some(Progress::ExtendsTimeout),
                1 => Some(Progress::Told),
                _ => None,
            };
        });
        if rules & 16 != 0 {
            tools = tools.policy(name, |policy| policy.confirm = true);
        }
        if rules & 24 == 24 {
            tools = tools.expires_ms(name, 6);
            if at(2) & 32 != 0 {
                tools = tools.runs_unanswered(name);
            }
        }
        if rules & 18 == 18 {
            tools = tools.gated_by_program(name);
        }
        tools = tools.policy(name, |policy| {
            policy.gate_terms.edits = match at(3) / 32 {
                0 | 1 => Some(Edits::Allowed),
                2 => Some(Edits::ApprovedAnew),
                _ => None,
            };
            policy.gate_terms.may_allow_for_session = !at(3).is_multiple_of(3);
        });
        tools = with_answer_terms(tools, name, shape / 8);
        tools = with_repeat_policies(tools, name, at(2));
        tools = with_conditions(tools, name, at(3));
    }
    if !dice[13].is_multiple_of(8) {
        tools = tools.agent(CLERK, NAMES);
        let rules = dice[13] / 8;
        tools = tools.policy(CLERK, |policy| {
            policy.timeout = (rules & 1 != 0).then_some(Duration::from_millis(9));
            policy.confirm = rules & 6 == 6;
            policy.gate_terms.may_allow_for_session = rules & 8 == 8;
        });
    }
    tools = with_limits_of_asking(tools, dice);
    let limits = dice[12];
    if !limits.is_multiple_of(4) {
        tools = tools.running_max(u32::from(limits % 4));
    }
    if limits / 4 % 8 == 7 {
        tools = tools.gates_waived("asked for by the embedder");
    }
    if limits / 32 % 2 == 1 {
        tools = match dice[13] / 64 {
            1 => tools.acknowledges_after_ms(6),
            _ => tools.acknowledges(),
        };
    }
    tools = tools.on_settled(match limits / 64 {
        0 | 1 => OnSettled::Park,
        2 => OnSettled::Connect,
        _ => OnSettled::Notify,
    });
    tools.phases(phases_of(dice[13]))
}

/// Sets who may approve, and how many must. They have an effect only on a gate.
fn with_answer_terms(tools: Toolbox, name: &str, die: u8) -> Toolbox {
    let finance = Approvers::roles(["finance"]);
    let people = Approvers::names([Person::embedder("ada"), Person::os_user("bob")]);
    match die {
        0..=12 => tools,
        13..=16 => tools.quorum(name, 2),
        17 | 18 => tools.quorum(name, 3),
        19 => tools.quorum(name, 1),
        20..=22 => tools.approvers(name, finance),
        23 | 24 => tools.approvers(name, people),
        25 | 26 => tools.not_requester(name),
        27 | 28 => tools.quorum(name, 2).not_requester(name),
        29 => tools.quorum(name, 2).approvers(name, finance.or(people)),
        30 => tools.approvers(name, finance).approvers(name, people),
        _ => tools
            .quorum(name, 2)
            .not_requester(name)
            .approvers(name, finance.or(Approvers::groups(["eu"]))),
    }
}

/// Sets the policies for reused results, retries and limits.
fn with_repeat_policies(tools: Toolbox, name: &str, die: u8) -> Toolbox {
    tools.policy(name, |policy| {
        policy.cache = die % 4 >= 2;
        if die % 8 == 1 {
            policy.repeats = recount_session::Repeats::PendingTicket;
        }
        policy.cache_max_age = (die % 4 == 3).then_some(Duration::from_millis(12));
        policy.retry = (die & 4 != 0).then_some(recount_session::Retry {
            attempts_max: 1 + u32::from(die / 64),
            backoff_ms: 3,
        });
        policy.limits = match die / 8 % 8 {
            0 => Limits {
                per_session: Some(u32::from(die / 64)),
                per_minute: None,
            },
            1 => Limits {
                per_session: None,
                per_minute: Some(u32::from(die / 64)),
            },
            2 => Limits {
                per_session: Some(6),
                per_minute: Some(2),
            },
            _ => Limits::default(),
        };
    })
}

/// Sets the limits of open requests and of approvals, in some histories.
fn with_limits_of_asking(tools: Toolbox, dice: Dice) -> Toolbox {
    let [of_session, of_tool, of_answers] = [dice[0] / 8, dice[4] / 8, dice[8] / 8];
    let tools = match of_session % 8 {
        7 => tools.max_open_requests(1 + u32::from(of_session / 8)),
        _ => tools,
    };
    let tools = match of_answers % 4 {
        3 => tools.answers_per_minute(1 + u32::from(of_answers / 16)),
        _ => tools,
    };
    let name = NAMES[usize::from(of_tool) % NAMES.len()];
    match of_tool / 4 {
        6 | 7 => tools.policy(name, |policy| {
            policy.gate_terms.max_open_requests = Some(1);
        }),
        _ => tools,
    }
}

/// Sets the kind of the tool, its background policy, and the condition and phases of its calls.
fn with_conditions(tools: Toolbox, name: &str, die: u8) -> Toolbox {
    let kind = match die % 4 {
        0 => ToolKind::Function,
        1 if die & 128 != 0 => ToolKind::Client,
        1 => ToolKind::Function,
        2 => ToolKind::LongRunning,
        _ => ToolKind::Streaming,
    };
    let tools = tools.kind(name, kind);
    match die / 4 % 8 {
        0 => tools.background(name, FunctionResponseScheduling::WhenIdle),
        1 => tools.background(name, FunctionResponseScheduling::Interrupt),
        2 => tools.when(name, condition(die / 32)),
        3 => tools.only_in(name, [PHASES[usize::from(die / 32) % 3], "settle"]),
        _ => tools,
    }
}

/// Returns phases whose guards read a few keys. Some lead in a circle, some to an undeclared phase.
fn phases_of(die: u8) -> Vec<PhaseDeclaration> {
    let declared = usize::from(die % 4);
    let phase = |at: usize| {
        let spin = die.rotate_left(at as u32 * 3);
        let to = |offset: usize| PHASES[(at + offset) % PHASES.len()].to_owned();
        let transition = |offset, die| Transition {
            to: to(offset),
            when: condition(die),
        };
        let mut transitions = vec![transition(1, spin / 4)];
        if spin & 1 != 0 {
            transitions.push(transition(2, spin / 8));
        }
        PhaseDeclaration {
            name: PHASES[at].to_owned(),
            instruction: (spin & 2 == 0).then(|| format!("Do {at}.")),
            tools: (spin & 12 == 12).then(|| [NAMES[at].to_owned()].into()),
            transitions,
        }
    };
    (0..declared).map(phase).collect()
}

fn condition(die: u8) -> Condition {
    match die % 8 {
        0 => S::is_true("a"),
        1 => S::exists("session:b"),
        2 => S::equals("b", 1),
        3 => S::compares("b", Comparison::Greater, 1),
        4 => S::and([S::is_true("a"), S::not(S::exists("turn:t"))]),
        5 => S::or([
            S::equals("a", "x"),
            S::compares("b", Comparison::AtMost, 1.5),
        ]),
        6 => S::not(S::is_true("a")),
        _ => S::exists("turn:t"),
    }
}
