//! The questions about a session's calls, as its projection keeps them.

use super::projection::CallProjection;
use super::question::{Question, QuestionEnd};
use crate::ledger::HintBy;
use crate::session::{ConfirmationAnswered, ConfirmationRequested, Fact, Finding, Json, Seq};

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

    /// Ends a question with its answer.
    pub(super) fn answered(&mut self, it: &ConfirmationAnswered, fact: &Fact) {
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

    /// The question that a request asked.
    pub(super) fn question(&mut self, request: Seq) -> Option<&mut Question> {
        let call = self.questions.get(&request)?;
        let questions = &mut self.calls.get_mut(call)?.questions;
        questions.iter_mut().find(|it| it.seq == request)
    }
}
