//! One event as one sentence, the same wherever it is told.

use super::names::Names;
use super::phrases::{clause, ending, failure_in, way};
use crate::terminal::style::Tone;
use crate::text::one_line::one_line;
use recount::session::{
    About, Author, Deadline, Decision, Event, Finding, HistoryForm, MediaCount, Observation,
    Speaker, Verdict,
};

/// An event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// What happened, on one line.
    pub(crate) text: String,
    /// What it is, for the eye.
    pub(crate) tone: Tone,
}

/// Tells an event.
pub(crate) fn sentence(event: &Event, names: &Names) -> Sentence {
    let (text, tone) = match event {
        Event::Observed(observation) => observed(observation, names),
        Event::Decided(decision) => decided(decision, names),
    };
    Sentence {
        text: one_line(&text).into_owned(),
        tone,
    }
}

fn observed(observation: &Observation, names: &Names) -> (String, Tone) {
    match observation {
        Observation::SessionOpened(it) => {
            let mut text = format!("session opened, agent {}", it.agent);
            if let Some(id) = &it.external_id {
                text.push_str(&format!(", {id}"));
            }
            for (key, value) in &it.labels {
                text.push_str(&format!(", {key}={value}"));
            }
            (text, Tone::Plain)
        }
        Observation::RunnerAttached(it) => match &it.gates.reason {
            Some(reason) if !it.gates.enforced => (
                format!("runner attached, gates do not hold: {reason}"),
                Tone::Bad,
            ),
            Some(_) | None => ("runner attached: calls may start".to_owned(), Tone::Plain),
        },
        Observation::RunnerDetached(it) if it.not_begun.is_empty() => {
            (format!("runner gone: {}", it.reason), Tone::Plain)
        }
        Observation::RunnerDetached(it) => {
            let calls = it.not_begun.iter().map(|it| it.call.to_string());
            let calls = calls.collect::<Vec<_>>().join(", ");
            let told = format!("runner gone: {}; had not begun: {calls}", it.reason);
            (told, Tone::Plain)
        }
        Observation::RunnerDraining(it) => {
            (format!("starts nothing more: {}", it.reason), Tone::Plain)
        }
        Observation::Connected(it) => {
            let resumed = if it.resumed.is_some() {
                ", resumes the conversation"
            } else {
                ""
            };
            (
                format!("connected to {}{resumed}", it.endpoint),
                Tone::Plain,
            )
        }
        Observation::SwitchPlanned(_) => (
            "leaves this connection as soon as nothing is under way".to_owned(),
            Tone::Quiet,
        ),
        Observation::ReconnectScheduled(it) => (
            format!("will connect again, attempt {}", it.attempt),
            Tone::Quiet,
        ),
        Observation::ConnectFailed(it) => {
            let code = it
                .code
                .map(|code| format!(", code {code}"))
                .unwrap_or_default();
            (format!("cannot connect{code}: {}", it.reason), Tone::Bad)
        }
        Observation::ReconnectsExhausted(it) => {
            (format!("gives up connecting: {}", it.reason), Tone::Bad)
        }
        Observation::HistorySent(it) => (
            match it.form {
                HistoryForm::Turns | HistoryForm::Announced => {
                    format!("told the model the story so far, {} turns", it.turns)
                }
                HistoryForm::LiveText => format!(
                    "told the model the story so far, {} turns in one message",
                    it.turns
                ),
            },
            Tone::Quiet,
        ),
        Observation::Disconnected(it) => {
            let code = it
                .code
                .map(|code| format!(", code {code}"))
                .unwrap_or_default();
            (format!("disconnected{code}: {}", it.reason), Tone::Plain)
        }
        Observation::GoAwayReceived(it) => {
            let left = it.time_left.as_deref().unwrap_or("soon");
            (
                format!("will close the connection, time left {left}"),
                Tone::Plain,
            )
        }
        Observation::ResumptionHandleReceived(it) => {
            let can = if it.resumable { "can" } else { "cannot" };
            (
                format!("says the conversation {can} be resumed from here"),
                Tone::Quiet,
            )
        }
        Observation::FunctionCallReceived(it) => {
            let name = it.name.as_deref().unwrap_or("a nameless function");
            let problem = it
                .invalid_args
                .as_deref()
                .or(it.malformed_args.as_ref().map(|it| it.problem.as_str()));
            match (problem, &it.args) {
                (Some(problem), _) => (format!("calls {name} wrongly: {problem}"), Tone::Bad),
                (None, Some(args)) => (
                    format!("calls {name} {args}", args = args.as_str()),
                    Tone::Call,
                ),
                (None, None) => (format!("calls {name}"), Tone::Call),
            }
        }
        Observation::HookAnswered(it) => {
            let (tool, hook) = (names.call(it.call), it.hook.as_str());
            match (&it.response, &it.failure) {
                (Some(response), _) => {
                    let text = format!("{hook} answers {tool} with {}", response.as_str());
                    (text, Tone::Plain)
                }
                (None, Some(failure)) => (format!("{tool}: {failure}"), Tone::Bad),
                (None, None) => (format!("{hook} leaves {tool} as it is"), Tone::Quiet),
            }
        }
        Observation::CallCancellationReceived(it) => {
            (format!("takes back {}", it.ids.join(", ")), Tone::Plain)
        }
        Observation::ToolReturned(it) => {
            let tool = names.call(it.call);
            if it.failed {
                (
                    format!("{tool} failed: {}", failure_in(&it.response)),
                    Tone::Bad,
                )
            } else {
                let ends = it.ends_session.as_ref();
                let ends = ends.map(|why| format!(", and ends the session: {why}"));
                (
                    format!(
                        "{tool} returned {}{}",
                        it.response.as_str(),
                        ends.unwrap_or_default()
                    ),
                    Tone::Good,
                )
            }
        }
        Observation::ToolYielded(it) => {
            let (tool, response) = (names.call(it.call), it.response.as_str());
            (format!("{tool} says {response}"), Tone::Plain)
        }
        Observation::ToolEventEmitted(it) => {
            let (tool, data) = (names.call(it.call), it.data.as_str());
            (format!("{tool} emits {} {data}", it.name), Tone::Plain)
        }
        Observation::StateChanged(it) => {
            let author = match &it.author {
                Author::Tool { call, .. } => names.call(*call),
                Author::Hook(name) => format!("the hook {name}"),
                Author::Program(actor) => actor.to_string(),
            };
            let changes = it.changes.iter();
            let changes = changes.map(|it| format!("{} = {}", it.key, it.value));
            let changes: Vec<String> = changes.collect();
            (format!("{author} sets {}", changes.join(", ")), Tone::Plain)
        }
        Observation::InstructionSent(_) => (
            "told the model the instruction of its phase".to_owned(),
            Tone::Quiet,
        ),
        Observation::ToolAsked(it) => {
            let (tool, hint) = (names.call(it.call), &it.hint);
            let how = if it.in_place {
                "and waits"
            } else {
                "by itself"
            };
            (format!("{tool} asks {how}: {hint}"), Tone::Ask)
        }
        Observation::LlmAsked(it) => {
            let (tool, of, turn) = (names.call(it.call), &it.of, it.turn);
            let told = format!("{tool}: {of} asks {}, turn {turn}", it.model);
            (told, Tone::Plain)
        }
        Observation::LlmReplied(it) => {
            let texts = it.parts.iter().filter_map(|part| part.text.as_deref());
            let text = texts.collect::<Vec<_>>().concat();
            let what = if it.calls() > 0 {
                "makes calls"
            } else {
                "replied"
            };
            let (tool, words) = (names.call(it.call), clause(Some(&text)));
            let told = format!("{tool}: its model {what}{words}");
            (told, Tone::Plain)
        }
        Observation::ToolPaused(it) => {
            let tool = names.call(it.call);
            (format!("{tool} paused, its result comes later"), Tone::Ask)
        }
        Observation::ConfirmationAnswered(it) => {
            let (what, tone, reason) = match &it.found {
                Some(Finding::Done(result)) => {
                    ("settled as done", Tone::Good, Some(result.as_str()))
                }
                Some(Finding::Failed(reason)) => {
                    ("settled as failed", Tone::Bad, Some(reason.as_str()))
                }
                None if it.confirmed => ("approved", Tone::Good, it.reason.as_deref()),
                None => ("denied", Tone::Bad, it.reason.as_deref()),
            };
            let reason = clause(reason);
            let edited = it.edited_args.as_ref();
            let edited = edited.map(|args| format!(" with {}", args.as_str()));
            let text = format!(
                "{} {what} by {}{}{reason}",
                names.about(it.request),
                it.by,
                edited.unwrap_or_default()
            );
            (text, tone)
        }
        Observation::AnswerRefused(it) => {
            let why = it.refusal.replace('_', " ");
            let text = format!(
                "answer to {} by {} refused: {why}",
                names.about(it.request),
                it.by
            );
            (text, Tone::Bad)
        }
        Observation::ResponseSupplied(it) => {
            let (tool, response) = (names.call(it.call), it.response.as_str());
            if it.will_continue {
                (
                    format!("news of {tool} from {}: {response}", it.by),
                    Tone::Plain,
                )
            } else {
                (
                    format!("{tool} answered by {}: {response}", it.by),
                    Tone::Good,
                )
            }
        }
        Observation::OutcomeFound(it) => {
            let (tool, by) = (names.call(it.call), &it.by);
            match &it.found {
                Finding::Done(result) => (
                    format!("{tool} found done by {by}: {}", result.as_str()),
                    Tone::Good,
                ),
                Finding::Failed(reason) => {
                    (format!("{tool} found failed by {by}: {reason}"), Tone::Bad)
                }
            }
        }
        Observation::ResponsesSent(it) => {
            let told: Vec<String> = it.responses.iter().map(|seq| names.about(*seq)).collect();
            (
                format!("told the model about {}", told.join(", ")),
                Tone::Quiet,
            )
        }
        Observation::DeadlinePassed(it) => match it.deadline {
            Deadline::Run { call, attempt } => (
                format!("time is up for {}, attempt {attempt}", names.call(call)),
                Tone::Bad,
            ),
            Deadline::Confirmation { call, .. } => (
                format!("time is up for an answer to {}", names.call(call)),
                Tone::Bad,
            ),
            Deadline::Retry { call, attempt } => (
                format!("time has come for {}, attempt {attempt}", names.call(call)),
                Tone::Quiet,
            ),
        },
        Observation::ModelOutputReceived(it) => (format!("“{}”", it.text), Tone::Speech),
        Observation::TranscriptReceived(it) => {
            let speaker = match it.speaker {
                Speaker::User => "heard",
                Speaker::Model => "spoke",
            };
            (format!("{speaker} “{}”", it.text), Tone::Speech)
        }
        Observation::UserTextSent(it) => (format!("“{}”", it.text), Tone::Speech),
        Observation::TurnCompleted(it) => (
            format!("turn completed{}", clause(it.reason.as_deref())),
            Tone::Quiet,
        ),
        Observation::TurnInterrupted(_) => ("turn interrupted".to_owned(), Tone::Quiet),
        Observation::MediaCounted(it) => {
            let count = |what: &str, it: &MediaCount| {
                let (audio, video) = (it.audio, it.video);
                format!(
                    "{what} {} frames of audio ({} bytes) and {} of video ({} bytes)",
                    audio.frames, audio.bytes, video.frames, video.bytes
                )
            };
            let (heard, sent) = (count("heard", &it.heard), count("sent", &it.sent));
            let withheld = match it.withheld.is_none() {
                true => String::new(),
                false => format!(", {}", count("withheld", &it.withheld)),
            };
            (format!("{heard}, {sent}{withheld}"), Tone::Quiet)
        }
        Observation::UsageReported(it) => (format!("usage {}", it.usage.as_str()), Tone::Quiet),
        Observation::FrameRejected(it) => (
            format!("a frame could not be read: {}", it.problem),
            Tone::Bad,
        ),
        Observation::OperatorCancelled(it) => {
            let reason = clause(it.reason.as_deref());
            let text = format!("{} cancelled by {}{reason}", names.call(it.call), it.by);
            (text, Tone::Bad)
        }
        Observation::SessionClosed(it) => (
            format!("session closed by {}: {}", it.by, it.reason),
            Tone::Plain,
        ),
    }
}

fn decided(decision: &Decision, names: &Names) -> (String, Tone) {
    match decision {
        Decision::PolicyDecided(it) => {
            let tool = names.call(it.call);
            match it.verdict {
                Verdict::Allowed => (format!("{tool} is allowed"), Tone::Quiet),
                Verdict::Ask => (format!("{tool} needs a person's leave"), Tone::Plain),
                Verdict::AskProgram => (format!("{tool} may need a person's leave"), Tone::Quiet),
                Verdict::Refused => {
                    let reason = clause(it.reason.as_deref());
                    (format!("{tool} is refused{reason}"), Tone::Bad)
                }
            }
        }
        Decision::GateWaived(it) => (
            format!("{} needs no leave: {}", names.call(it.call), it.reason),
            Tone::Bad,
        ),
        Decision::ConfirmationRequested(it) => {
            let tool = names.call(it.call);
            let question = match (it.about, it.hint.as_deref().unwrap_or_default()) {
                (About::Gate, "") => "May it run?".to_owned(),
                (About::Tool, "") => "May it go on?".to_owned(),
                (About::Gate | About::Tool, hint) => hint.to_owned(),
                (About::InDoubt, _) => "It may have run. Run it again?".to_owned(),
            };
            (
                format!("{tool} asks: {question}  {}", names.args(it)),
                Tone::Ask,
            )
        }
        Decision::ConfirmationExpired(it) => (
            format!("{}: nobody answered in time", names.call(it.call)),
            Tone::Bad,
        ),
        Decision::ConfirmationWithdrawn(it) => {
            let why = it.reason.in_words();
            (
                format!("{}: no answer needed, {why}", names.call(it.call)),
                Tone::Plain,
            )
        }
        Decision::ConfirmationReopened(it) => (
            format!("{} has changed and asks anew", names.call(it.question.call)),
            Tone::Ask,
        ),
        Decision::CallReady(it) => (format!("{} may start", names.call(it.call)), Tone::Quiet),
        Decision::ResultReused(it) => (
            format!("{} takes the result of an equal call", names.call(it.call)),
            Tone::Good,
        ),
        Decision::BackgroundSpawned(it) => (
            format!("{} runs in the background", names.call(it.call)),
            Tone::Quiet,
        ),
        Decision::RetryScheduled(it) => (
            format!(
                "{} will be started again, attempt {}",
                names.call(it.call),
                it.attempt
            ),
            Tone::Plain,
        ),
        Decision::PhaseEntered(it) => (format!("phase {} entered", it.phase), Tone::Plain),
        Decision::CallStarted(it) => (
            format!("{} started, attempt {}", names.call(it.call), it.attempt),
            Tone::Plain,
        ),
        Decision::CallCancelled(it) => {
            let why = it.reason.in_words();
            (
                format!("{} cancelled: {why}", names.call(it.call)),
                Tone::Bad,
            )
        }
        Decision::OutcomeReconciled(it) => {
            let (tool, way) = (names.call(it.call), way(it.route));
            (
                format!("{tool}: what became of it is known ({way})"),
                Tone::Plain,
            )
        }
        Decision::ResponseIssued(it) => {
            let (tool, way) = (names.call(it.call), way(it.route));
            match ending(it.outcome) {
                Some(ending) => (format!("{tool} ends: {ending} ({way})"), Tone::Plain),
                None => (format!("{tool} goes on ({way})"), Tone::Plain),
            }
        }
        Decision::DeliveryChosen(it) => (
            format!(
                "answer for {} ({})",
                names.about(it.response),
                way(it.route)
            ),
            Tone::Plain,
        ),
    }
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
