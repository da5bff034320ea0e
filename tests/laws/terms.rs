//! What the runners of a history bring, from dice: tools there or gone, changed or reworded, and every policy.

use std::time::Duration;

use recount::session::InDoubt;
use recount::testing::{Toolbox, toolbox};

/// The tools that a runner may have.
pub(crate) const NAMES: [&str; 3] = ["look", "pay", "order"];

/// What a runner brings, from six dice: one and a half a tool.
pub(crate) fn tools_of(dice: [u8; 6]) -> Toolbox {
    let mut tools = toolbox();
    for (name, (shape, rules)) in NAMES
        .into_iter()
        .zip([0, 2, 4].map(|i| (dice[i], dice[i + 1])))
    {
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
        });
        if rules & 16 != 0 {
            tools = tools.policy(name, |policy| policy.confirm = true);
        }
        if rules & 24 == 24 {
            tools = tools.expires_ms(name, 6);
        }
    }
    let limits = dice[0] / 8;
    if !limits.is_multiple_of(4) {
        tools = tools.running_max(u32::from(limits % 4));
    }
    if limits / 4 == 7 {
        tools = tools.gates_waived("asked for by the embedder");
    }
    tools
}
