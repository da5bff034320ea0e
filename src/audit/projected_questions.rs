//! The questions about a session's calls, as its projection keeps them.

use super::projection::CallProjection;
use super::question::{EarlierApproval, Question, QuestionEnd};
use crate::ledger::HintBy;
use crate::session::{
    ApprovalGiven, ConfirmationAnswered, ConfirmationRequested, Fact, Finding, Json, RequestState,
    Seq,
};

impl CallProjection {
    /// Adds the question of a request to its call.
    pub(super) fn asked(&mut self, it: &ConfirmationRequested, fact: &Fact) {
        let Some(call) = self.calls.get_mut(&it.call) else {
            return;
        };
        self.questions.insert(fact.seq, it.call);
        let open = self.session.calls.get(&it.call);
        call.questions.push(Question {
            args: open.map_or_else(Json::empty_object, |open| open.args.clone()),
            id: self.session.id.request_id(fact.seq),
            seq: fact.seq,
            about: it.about,
            hint: it.hint.clone(),
            hint_by: match it.asked {
                Some(_) => HintBy::Tool,
                None => HintBy::Declaration,
            },
            args_sha256: it.args_sha256,
            contract: it.contract,
            asked_at: fact.at,
            expires_at: it.expires_at_us,
            on_expiry: it.on_expiry,
            end: QuestionEnd::Open,
            ended_seq: None,
            ended_at: None,
            waited_us: None,
            by: None,
            approvals_needed: it.needs.as_ref().map_or(1, |needs| needs.approvals()),
            approvals: Vec::new(),
            reason: None,
            payload: None,
            edited_args: None,
            allow_for: None,
            found: None,
            superseded_by: None,
            refused: Vec::new(),
        });
    }

    /// Adds an approval that counts without deciding.
    pub(super) fn approved(&mut self, it: &ApprovalGiven, fact: &Fact) {
        let request = self.session.requests.get(&it.request);
        let given = request
            .and_then(|it| it.asking.as_ref())
            .map(|it| &it.given);
        // A record that admission would have refused, for example in an import, is no approval.
        if !given.is_some_and(|all| all.iter().any(|one| one.at == fact.seq)) {
            return;
        }
        if let Some(question) = self.question(it.request) {
            question.approvals.push(EarlierApproval {
                seq: fact.seq,
                at: fact.at,
                by: it.by.clone(),
                reason: it.reason.clone(),
                payload: it.payload.clone(),
                edited_args: it.edited_args.clone(),
                allow_for: it.allow_for,
            });
        }
    }

    /// Ends a question with its answer.
    pub(super) fn answered(&mut self, it: &ConfirmationAnswered, fact: &Fact) {
        // The request of an answer that may not decide stays open.
        if !self.is_decided_by(it.request, fact.seq) {
            return;
        }
        let end = match (&it.found, it.confirmed) {
            (Some(Finding::Done(_)), _) => QuestionEnd::SettledAsDone,
            (Some(Finding::Failed(_)), _) => QuestionEnd::SettledAsFailed,
            (None, true) => QuestionEnd::Approved,
            (None, false) => QuestionEnd::Denied,
        };
        let Some(question) = self.question(it.request) else {
            return;
        };
        // The first recorded answer counts.
        if !question.ends(end, fact.seq, fact.at) {
            return;
        }
        question.by = Some(it.by.clone());
        question.reason = it.reason.clone();
        question.payload = it.payload.clone();
        question.edited_args = it.edited_args.clone();
        question.allow_for = it.allow_for;
        question.found = it.found.clone();
        let Some(about) = self.questions.get(&it.request) else {
            return;
        };
        let open = self.session.calls.get(about);
        if let (Some(open), Some(call)) = (open, self.calls.get_mut(about)) {
            let changed = call.args.as_ref().is_some_and(|args| *args != open.args);
            call.edited_args = changed.then(|| open.args.clone());
        }
    }

    /// True if this record is the answer that decided the request.
    fn is_decided_by(&self, request: Seq, answer: Seq) -> bool {
        let request = self.session.requests.get(&request);
        request.is_some_and(|it| match &it.state {
            RequestState::Answered(answered) => answered.at == answer,
            RequestState::Open
            | RequestState::Expired { .. }
            | RequestState::Withdrawn { .. }
            | RequestState::Superseded { .. } => false,
        })
    }

    /// The question that a request asked.
    pub(super) fn question(&mut self, request: Seq) -> Option<&mut Question> {
        let call = self.questions.get(&request)?;
        let questions = &mut self.calls.get_mut(call)?.questions;
        questions.iter_mut().find(|it| it.seq == request)
    }
}
