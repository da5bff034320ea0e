use serde_json::json;

use super::tests::{begun, row};
use crate::session::{Actor, ClaimEnded, Deadline, DeadlinePassed, RunnerDetached, Start};
use crate::testing::{History, toolbox};

fn claimed() -> History {
    let tools = toolbox().at_client("pack");
    let called = begun(&tools).call("c1", "pack", json!({}));
    called.claimed("w1", 60_000)
}

fn ends(history: &History, claim: &str) -> ClaimEnded {
    ClaimEnded {
        call: history.call_seq(),
        attempt: 1,
        claim: claim.to_owned(),
        reason: None,
        not_begun: true,
        by: Actor::embedder("warehouse"),
        rules: 2,
    }
}

/// A runner cannot know if a client has begun, so no list of its starts removes the client's run.
#[test]
fn runner_takes_no_run_of_a_client_back() {
    let claimed = claimed();
    let (call, reason) = (claimed.call_seq(), "the end".to_owned());
    let not_begun = vec![Start { call, attempt: 1 }];
    let detached = claimed.observed(RunnerDetached { reason, not_begun });
    let row = row(&detached);
    assert_eq!((row.runs.len(), row.waits_as), (1, Some("running")));
    assert_eq!(row.runs[0].claimed_by, Some(Actor::embedder("warehouse")));
}

#[test]
fn only_the_end_of_its_own_claim_removes_a_run() {
    let claimed = claimed();
    let other = claimed.clone().observed(ends(&claimed, "w2"));
    assert_eq!(row(&other).runs.len(), 1);
    let given_back = claimed.clone().observed(ends(&claimed, "w1"));
    assert_eq!(row(&given_back).runs.len(), 0);
}

#[test]
fn lease_that_was_renewed_ends_no_run() {
    let claimed = claimed();
    let (call, attempt) = (claimed.call_seq(), 1);
    let due_us = claimed.now();
    let stale = claimed.clone().observed(DeadlinePassed {
        deadline: Deadline::Lease { call, attempt },
        due_us,
    });
    assert_eq!(row(&stale).runs[0].ended_at, None);
    assert!(row(&claimed.timed_out()).runs[0].ended_at.is_some());
}
