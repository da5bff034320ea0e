use serde_json::json;

use super::tests::{begun, row};
use crate::audit::QuestionEnd;
use crate::session::{Actor, ApprovalGiven, ToolConfirmation};
use crate::testing::toolbox;

/// Records that admission would refuse, as an altered export may have them, are no approvals.
#[test]
fn answer_that_does_not_count_is_no_approval() {
    let asked = begun(&toolbox().gated("pay").quorum("pay", 2)).call("c1", "pay", json!({}));
    let request = asked.request();
    let yes = |by: Actor| ToolConfirmation::confirmed().into_record(request, by);
    let ada = Actor::os_user("ada");
    let one = asked.answered_by(ada.clone(), ToolConfirmation::confirmed());
    let forged = one
        .observed(ApprovalGiven::from(yes(ada.clone())))
        .observed(yes(ada.clone()))
        .observed(yes(Actor::unverified("bob")));
    let row = row(&forged);
    let question = row.questions.first();
    let told = question.map(|it| (it.end, it.by.clone(), it.approvals.len()));
    assert_eq!(told, Some((QuestionEnd::Open, None, 1)));
}
