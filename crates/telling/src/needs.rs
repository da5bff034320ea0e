//! The people who may answer a request, and the approvals that are still needed, in words.

use crate::text::count;
use recount::session::{Needs, Requester};

/// The progress of a request, such as `1 of 2 approvals; still needed: 1 approval by role finance`.
pub fn progress(needs: Option<&Needs>, missing: u32) -> String {
    let Some(needs) = needs else {
        return format!("Still needed: {}.", count(missing, "approval"));
    };
    let all = needs.approvals();
    let given = all.saturating_sub(missing);
    let still = still_needed(needs, missing);
    format!("{given} of {all} approvals; still needed: {still}.")
}

/// The approvals that are still needed, such as `1 approval by one of: role finance`.
pub fn still_needed(needs: &Needs, missing: u32) -> String {
    let mut text = count(missing, "approval");
    let each = if missing == 1 { "" } else { ", each" };
    let people: Vec<String> = needs.approvers.iter().map(ToString::to_string).collect();
    match people.as_slice() {
        [] => text.push_str(if missing == 1 {
            " by a person"
        } else {
            " by persons"
        }),
        [one] => text.push_str(&format!("{each} by one of: {one}")),
        all => text.push_str(&format!("{each} by one of each of: {}", all.join("; "))),
    }
    if needs.not_requester {
        text.push_str(&match &needs.requester {
            Some(Requester { name, .. }) => format!("; not by the requester {name:?}"),
            None => "; not by the requester, who is unknown, so no person can approve".to_owned(),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use recount::session::{Approvers, Person};

    #[test]
    fn needs_are_told_in_words() {
        let two = Needs {
            quorum: std::num::NonZeroU32::new(2),
            ..Needs::default()
        };
        let said = progress(Some(&two), 1);
        assert_eq!(
            said,
            "1 of 2 approvals; still needed: 1 approval by a person."
        );
        let people = Approvers::roles(["finance"]).or(Approvers::names([Person::os_user("ada")]));
        let full = Needs {
            approvers: [people].into(),
            not_requester: true,
            requester: Some(Requester::named("carol")),
            ..two
        };
        let said = progress(Some(&full), 2);
        assert_eq!(
            said,
            "0 of 2 approvals; still needed: 2 approvals, each by one of: role finance, \
             os_user:ada; not by the requester \"carol\"."
        );
        assert_eq!(progress(None, 1), "Still needed: 1 approval.");
    }
}
