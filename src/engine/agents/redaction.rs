//! Redaction of texts from people, models and tools, before they are recorded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::session::{Finding, Json, Observation, Rejection, unfit};
use crate::tool::ToolError;

/// The replacement of texts.
#[derive(Clone)]
pub(in crate::engine) struct Redactor(Replacement);

#[derive(Clone)]
enum Replacement {
    By(Arc<Redact>),
    /// Drops every text and value.
    None,
}

type Redact = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The replacement when a redactor fails. Recording too little is better than a secret.
const FAILED: &str = "[redaction failed]";

/// The error for arguments or a result that the redactor made too large for a record.
const TOO_LARGE: &str = "larger than what goes on record, once it was redacted";

impl Redactor {
    pub(in crate::engine) fn new(
        redact: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Redactor {
        Redactor(Replacement::By(Arc::new(redact)))
    }

    /// Redacts the texts of an observation and the values in its JSON.
    pub(in crate::engine) fn redact(&self, observation: &mut Observation) {
        self.replace_in(observation);
        let Some(rejection) = unfit(observation) else {
            return;
        };
        let kind = observation.kind();
        tracing::error!(kind, %rejection, "the redactor made a record unfit for the journal");
        Redactor(Replacement::None).replace_in(observation);
        if let Observation::FunctionCallReceived(it) = observation
            && it.args.is_some()
        {
            it.sealed_args.clear();
            it.invalid_args = Some(TOO_LARGE.to_owned());
        }
        if let Observation::ToolReturned(it) = observation {
            let error = ToolError::ExecutionFailed(TOO_LARGE.to_owned());
            (it.failed, it.ends_session) = (true, None);
            it.error_kind = Some(error.kind().to_owned());
            it.response = Json::of(&error.to_response());
        }
    }

    /// Returns the reason why the redacted observation of a command does not fit a record.
    pub(in crate::engine) fn unfit(&self, observation: &Observation) -> Option<Rejection> {
        let mut redacted = observation.clone();
        self.replace_in(&mut redacted);
        unfit(&redacted)
    }

    fn replace_in(&self, observation: &mut Observation) {
        match observation {
            Observation::FunctionCallReceived(it) => {
                if let Some(args) = &mut it.args {
                    let sealed = args.clone();
                    self.json(args);
                    // Sealed values reveal nothing, and must open again.
                    for place in &it.sealed_args {
                        let kept = sealed.text_at(place);
                        if let Some(whole) = kept.and_then(|kept| args.with_text_at(place, kept)) {
                            *args = whole;
                        }
                    }
                }
                it.original_args.iter_mut().for_each(|it| self.json(it));
                it.invalid_args.iter_mut().for_each(|it| self.text(it));
                let is_sealed = it.sealed_args.iter().any(String::is_empty);
                if let Some(malformed) = it.malformed_args.as_mut().filter(|_| !is_sealed) {
                    self.text(&mut malformed.text);
                    self.text(&mut malformed.problem);
                }
            }
            Observation::HookAnswered(it) => {
                it.response.iter_mut().for_each(|it| self.json(it));
            }
            Observation::ToolReturned(it) => {
                self.json(&mut it.response);
                it.ends_session.iter_mut().for_each(|it| self.text(it));
            }
            Observation::ToolYielded(it) => self.json(&mut it.response),
            // An agent resumes from these texts.
            Observation::LlmReplied(it) => {
                let texts = it.parts.iter_mut().filter_map(|part| part.text.as_mut());
                texts.for_each(|text| self.text(text));
            }
            // The question is for an approver. The state is the tool's own and must return
            // unchanged.
            Observation::ToolAsked(it) => self.text(&mut it.hint),
            // The state is the tool's own, as above.
            Observation::ToolPaused(it) => it.interim.iter_mut().for_each(|it| self.json(it)),
            Observation::ToolEventEmitted(it) => self.json(&mut it.data),
            Observation::StateChanged(it) => {
                it.changes
                    .iter_mut()
                    .for_each(|change| self.json(&mut change.value));
            }
            Observation::ConfirmationAnswered(it) => {
                it.reason.iter_mut().for_each(|it| self.text(it));
                it.payload.iter_mut().for_each(|it| self.json(it));
                it.extra.iter_mut().for_each(|it| self.json(it));
                it.found.iter_mut().for_each(|it| self.finding(it));
            }
            Observation::ClaimEnded(it) => it.reason.iter_mut().for_each(|it| self.text(it)),
            Observation::ApprovalGiven(it) => {
                it.reason.iter_mut().for_each(|it| self.text(it));
                it.payload.iter_mut().for_each(|it| self.json(it));
                it.extra.iter_mut().for_each(|it| self.json(it));
            }
            Observation::LeaveRevoked(it) => it.reason.iter_mut().for_each(|it| self.text(it)),
            Observation::ResponseSupplied(it) => self.json(&mut it.response),
            Observation::OutcomeFound(it) => self.finding(&mut it.found),
            Observation::ModelOutputReceived(it) => self.text(&mut it.text),
            Observation::TranscriptReceived(it) => self.text(&mut it.text),
            Observation::UserTextSent(it) => self.text(&mut it.text),
            Observation::FrameRejected(it) => self.text(&mut it.problem),
            Observation::OperatorCancelled(it) => {
                it.reason.iter_mut().for_each(|it| self.text(it));
                it.response.iter_mut().for_each(|it| self.json(it));
            }
            // The service may quote what it refuses, and the reason of a close may contain names.
            Observation::ConnectFailed(it) => self.text(&mut it.reason),
            Observation::ReconnectsExhausted(it) => self.text(&mut it.reason),
            Observation::Disconnected(it) => self.text(&mut it.reason),
            Observation::SessionClosed(it) => self.text(&mut it.reason),
            // The journal's own stream has the reason in clear if the pause is of several sessions.
            Observation::Paused(it) => it.reason.iter_mut().for_each(|it| self.text(it)),
            Observation::Unpaused(it) => it.reason.iter_mut().for_each(|it| self.text(it)),
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::RunnerDraining(_)
            | Observation::CatalogChanged(_)
            | Observation::LlmAsked(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::HistorySent(_)
            | Observation::Connected(_)
            | Observation::GoAwayReceived(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::CallCancellationReceived(_)
            | Observation::AnswerRefused(_)
            | Observation::CallClaimed(_)
            | Observation::LeaseRenewed(_)
            | Observation::ResponsesSent(_)
            | Observation::InstructionSent(_)
            | Observation::DeadlinePassed(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_) => {}
        }
    }

    fn finding(&self, found: &mut Finding) {
        match found {
            Finding::Done(result) => self.json(result),
            Finding::Failed(reason) => self.text(reason),
        }
    }

    pub(in crate::engine) fn text(&self, text: &mut String) {
        if let Some(redacted) = self.of(text) {
            *text = redacted;
        }
    }

    pub(in crate::engine) fn json(&self, json: &mut Json) {
        let redacted = match &self.0 {
            Replacement::By(_) => self.in_json(json.as_str()),
            // A missing value stays missing.
            Replacement::None if json.as_str() == "null" => None,
            Replacement::None => Some(String::new()),
        };
        if let Some(redacted) = redacted {
            // Only whole tokens were replaced by tokens.
            *json = Json::parse(&redacted).unwrap_or_else(|_| Json::empty_object());
        }
    }

    pub(in crate::engine) fn of(&self, text: &str) -> Option<String> {
        let redact = match &self.0 {
            Replacement::By(redact) => redact,
            Replacement::None => return Some(String::new()),
        };
        catch_unwind(AssertUnwindSafe(|| redact(text))).unwrap_or_else(|_| {
            tracing::error!("the redactor panicked");
            Some(FAILED.to_owned())
        })
    }

    /// Returns the JSON text with strings and numbers redacted, but not names. None if nothing
    /// changes.
    pub(in crate::engine) fn in_json(&self, text: &str) -> Option<String> {
        let (mut redacted, mut kept, mut rest) = (String::new(), text, text);
        let mut found = false;
        while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
            let token = token(rest.get(at..).unwrap_or_default());
            let after = rest.get(at + token.len()..).unwrap_or_default();
            let words = match token.strip_prefix('"') {
                Some(_) if after.starts_with(':') => None,
                Some(_) => serde_json::from_str::<String>(token)
                    .ok()
                    .and_then(|it| self.of(&it)),
                None => self.of(token),
            };
            if let Some(words) = words {
                found = true;
                let before = kept.len() - after.len() - token.len();
                redacted.push_str(kept.get(..before).unwrap_or_default());
                redacted.push_str(&serde_json::Value::String(words).to_string());
                kept = after;
            }
            rest = after;
        }
        found.then(|| redacted + kept)
    }
}

/// Returns the string or number at the start of a JSON text.
fn token(text: &str) -> &str {
    let mut escaped = false;
    let end = if let Some(inner) = text.strip_prefix('"') {
        let closing = inner.find(|c: char| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        closing.map(|at| at + 2)
    } else {
        text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
    };
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use crate::session::{
        ConnectFailed, Disconnected, FunctionCallReceived, ReconnectsExhausted, Seq, SessionClosed,
        ToolReturned,
    };

    fn digits() -> Redactor {
        Redactor::new(|text| {
            let digits = text.chars().filter(char::is_ascii_digit).count();
            (digits >= 8).then(|| "[number]".to_owned())
        })
    }

    #[test]
    fn values_are_redacted_but_not_names() {
        let redactor = digits();
        let text = r#"{"12345678":"a\"b","card":"4111-1111","n":[1.50,12345678,"\\"],"t":true}"#;
        let redacted = redactor.in_json(text).unwrap();
        let expected =
            r#"{"12345678":"a\"b","card":"[number]","n":[1.50,"[number]","\\"],"t":true}"#;
        assert_eq!(redacted, expected);
        assert_eq!(redactor.in_json(r#"{"a":[null,false,-1e5,""]}"#), None);
    }

    #[test]
    fn sealed_values_are_not_redacted() {
        let args = r#"{"card":{"$sealed":"v1.1234567890"},"iban":"1234567890"}"#;
        let mut call = Observation::from(FunctionCallReceived {
            epoch: Seq(1),
            id: None,
            name: Some("pay".to_owned()),
            args: Json::parse(args).ok(),
            malformed_args: None,
            invalid_args: None,
            sealed_args: vec!["/card".to_owned()],
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        });
        digits().redact(&mut call);
        let body = crate::session::Event::Observed(call).body().unwrap();
        assert!(body.contains(r#""args":{"card":{"$sealed":"v1.1234567890"},"iban":"[number]"}"#));
    }

    #[test]
    fn reasons_are_redacted() {
        let reason = "card 4111 1111".to_owned();
        let by = crate::session::Actor::embedder("desk");
        let epoch = Seq(3);
        let lost = Disconnected {
            epoch,
            code: Some(1007),
            reason: reason.clone(),
        };
        let failed = ConnectFailed {
            attempt: 1,
            code: Some(1007),
            reason: reason.clone(),
            rejected: None,
        };
        let exhausted = ReconnectsExhausted {
            attempts: 1,
            reason: reason.clone(),
        };
        let closed = SessionClosed { reason, by };
        let all: [Observation; 4] = [lost.into(), failed.into(), exhausted.into(), closed.into()];
        for mut observation in all {
            digits().redact(&mut observation);
            let body = crate::session::Event::Observed(observation).body().unwrap();
            assert!(body.contains(r#""reason":"[number]""#), "{body}");
        }
    }

    #[test]
    fn oversized_redaction_drops_texts_and_refuses_call() {
        let verbose = Redactor::new(|text| Some(text.repeat(1 << 20)));
        let mut call = Observation::from(FunctionCallReceived {
            epoch: Seq(1),
            id: Some("c1".to_owned()),
            name: Some("pay".to_owned()),
            args: Json::parse(r#"{"card":"4111","iban":{"$sealed":"v1.5"}}"#).ok(),
            malformed_args: None,
            invalid_args: None,
            sealed_args: vec!["/iban".to_owned()],
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        });
        verbose.redact(&mut call);
        let body = crate::session::Event::Observed(call).body().unwrap();
        assert!(body.contains(r#""args":{}"#), "{body}");
        assert!(
            body.contains(&format!(r#""invalid_args":"{TOO_LARGE}""#)),
            "{body}"
        );
        assert!(!body.contains("sealed_args"), "{body}");
        let returned = ToolReturned {
            call: Seq(4),
            attempt: 1,
            failed: false,
            response: Json::parse(r#"{"iban":"4111"}"#).unwrap(),
            error_kind: None,
            scheduling: None,
            ends_session: Some("4111".to_owned()),
        };
        assert!(verbose.unfit(&returned.clone().into()).is_some());
        let mut returned = Observation::from(returned);
        verbose.redact(&mut returned);
        let body = crate::session::Event::Observed(returned).body().unwrap();
        assert!(body.contains(r#""failed":true"#), "{body}");
        assert!(body.contains(TOO_LARGE) && !body.contains("4111"), "{body}");
        let reason = "card 4111".to_owned();
        let by = crate::session::Actor::embedder("desk");
        let mut closed = Observation::from(SessionClosed { reason, by });
        verbose.redact(&mut closed);
        let body = crate::session::Event::Observed(closed).body().unwrap();
        assert!(body.contains(r#""reason":"""#), "{body}");
    }

    #[test]
    fn panicking_redactor_drops_text() {
        #[expect(clippy::panic, reason = "the panic is what is tested")]
        let redactor = Redactor::new(|_| panic!("kaput"));
        let mut json = Json::parse(r#"{"a":"secret"}"#).unwrap();
        redactor.json(&mut json);
        assert_eq!(json.as_str(), r#"{"a":"[redaction failed]"}"#);
    }
}
