//! The people who may answer a request, and the approvals that are still needed, on the screen.

use crate::failures::Failure;
use crate::terminal::Screen;
use recount::ledger::PendingConfirmation;
use recount::session::AllowFor;
use recount_telling::{acted, age, one_line, still_needed};

/// Shows who may answer a request, the approvals so far and the number that is still needed.
pub(super) fn show(it: &PendingConfirmation, screen: &mut Screen) -> Result<(), Failure> {
    let Some(needs) = it.needs.as_deref() else {
        return Ok(());
    };
    for given in &it.approvals {
        let mut text = format!(
            "  approved {} {}",
            acted("by", &given.by),
            age::moment(given.at)
        );
        if let Some(args) = &given.args {
            text.push_str(&format!(", with --args {}", args.as_str()));
        }
        if let Some(payload) = &given.payload {
            text.push_str(&format!(", with --payload {}", payload.as_str()));
        }
        if let Some(bound) = given.allow_for {
            let option = match bound {
                AllowFor::Count(count) => format!("--allow-for {count}"),
                AllowFor::Until(until) => format!("--allow-until {}", age::stamp(until)),
            };
            text.push_str(&format!(", with {option}"));
        }
        if let Some(reason) = &given.reason {
            text.push_str(&format!(": {reason}"));
        }
        screen.line(&one_line(&text))?;
    }
    let text = format!("  still needed: {}", still_needed(needs, it.missing()));
    screen.line(&one_line(&text))
}
