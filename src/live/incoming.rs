//! Conversion of the service's frames to observations. Total: each frame gives at least a record.

use super::streamed::{Streamed, Whole};
use super::wire::{CallRead, DecodeError, PartsRead, ServerContent, Transcription};
use crate::session::{
    CallCancellationReceived, Event, FrameRejected, FunctionCallReceived, GoAwayReceived, Json,
    MalformedArgs, ModelOutputReceived, Observation, ResumptionHandle, ResumptionHandleReceived,
    Seq, Speaker, TranscriptReceived, TurnCompleted, TurnInterrupted, UsageReported, unfit,
};

/// A check of a call's arguments against the declared schema. Returns the violation.
pub(crate) type CheckArguments<'a> = dyn Fn(&str, &Json) -> Option<String> + 'a;

/// The content of one frame.
pub(crate) struct Heard {
    /// The observations to record.
    pub(crate) observations: Vec<Observation>,
    /// The resumption handle, of which only the fingerprint is recorded.
    pub(crate) handle: Option<ResumptionHandle>,
}

/// Converts one frame to observations, in the order in which they take effect.
///
/// A frame may have several payloads: the model's output comes first, then its calls, then its
/// cancellations.
///
/// `depth_max` limits the nesting of the frame outside of arguments. `streamed` belongs to the
/// connection and collects calls that arrive in pieces, until they are complete.
pub(crate) fn heard(
    epoch: Seq,
    frame: &str,
    depth_max: usize,
    check: &CheckArguments<'_>,
    streamed: &mut Streamed,
) -> Heard {
    let parts = match PartsRead::decode_within(frame, depth_max) {
        Ok(parts) => parts,
        Err(error) => {
            let mut observations = vec![rejected(epoch, &error)];
            observations.extend(piece_lost(epoch, None, check, streamed));
            return Heard {
                observations,
                handle: None,
            };
        }
    };
    let lost_calls = parts.lost_calls();
    let message = parts.message;
    let mut seen = Vec::new();
    let mut handle = None;
    if let Some(content) = &message.server_content {
        server_content(epoch, content, &mut seen);
    }
    if lost_calls {
        seen.extend(piece_lost(epoch, None, check, streamed));
    }
    streamed.begin_list(&parts.calls);
    for call in parts.calls {
        called(epoch, call, check, streamed, &mut seen);
    }
    if let Some(cancelled) = message.tool_call_cancellation {
        let ids = cancelled.ids.into_vec();
        streamed.cancel(&ids);
        seen.push(CallCancellationReceived { epoch, ids }.into());
    }
    if let Some(go_away) = message.go_away {
        seen.push(
            GoAwayReceived {
                epoch,
                time_left: go_away.time_left,
            }
            .into(),
        );
    }
    if let Some(update) = message.session_resumption_update {
        let resumable = update.resumable.unwrap_or(false);
        let given = update.new_handle.filter(|handle| !handle.is_empty());
        handle = given.map(ResumptionHandle::new);
        seen.push(handle_received(epoch, resumable, handle.as_ref()));
    }
    if let Some(usage) = message.usage_metadata
        && let Ok(usage) = Json::parse(&usage.encode())
    {
        seen.push(UsageReported { epoch, usage }.into());
    }
    seen.extend(parts.rejected.iter().map(|error| rejected(epoch, error)));
    if frame.len() > PART_BYTES_MAX {
        seen.iter_mut().for_each(|part| bound(epoch, part));
    }
    Heard {
        observations: seen,
        handle,
    }
}

fn handle_received(epoch: Seq, resumable: bool, handle: Option<&ResumptionHandle>) -> Observation {
    ResumptionHandleReceived {
        epoch,
        resumable,
        fingerprint: handle.map(ResumptionHandle::fingerprint),
        expires_at_us: None,
    }
    .into()
}

/// The maximum size of a recorded part of a frame, in bytes. A decision that quotes the part must
/// also fit into a record.
const PART_BYTES_MAX: usize = 512 << 10;

/// The maximum length of a call's name or id, in bytes. Longer calls are recorded as rejected
/// frames.
const NAME_BYTES_MAX: usize = 4096;

/// Replaces the content of an oversized part by a note. A call remains a call, so that the model
/// gets a response.
fn bound(epoch: Seq, part: &mut Observation) {
    let body = Event::Observed(part.clone()).body();
    let bytes = body.map_or(usize::MAX, |body| body.len());
    if bytes <= PART_BYTES_MAX {
        return;
    }
    let limit = format!("{bytes} bytes long, the limit is {PART_BYTES_MAX}");
    reject(epoch, part, &limit);
}

/// Replaces a call that the journal would reject. The sealed call nests one level deeper than the
/// received one.
pub(crate) fn bound_call(epoch: Seq, part: &mut Observation) {
    if let Observation::FunctionCallReceived(_) = part
        && let Some(rejection) = unfit(part)
    {
        reject(epoch, part, &format!("not to be recorded: {rejection}"));
    }
}

fn reject(epoch: Seq, part: &mut Observation, problem: &str) {
    let short = |name: &Option<String>| name.as_ref().is_none_or(|it| it.len() <= NAME_BYTES_MAX);
    if let Observation::FunctionCallReceived(call) = part
        && short(&call.name)
        && short(&call.id)
    {
        let problem = format!("the arguments are {problem}");
        call.args = None;
        call.original_args = None;
        call.invalid_args = None;
        call.sealed_args.clear();
        call.malformed_args = Some(MalformedArgs {
            text: String::new(),
            problem,
        });
    } else {
        let problem = format!("{} is {problem}", part.kind());
        *part = FrameRejected { epoch, problem }.into();
    }
}

fn server_content(epoch: Seq, content: &ServerContent, seen: &mut Vec<Observation>) {
    let transcript = |speaker, transcription: &Option<Transcription>| {
        let text = transcription
            .as_ref()?
            .text
            .clone()
            .filter(|text| !text.is_empty())?;
        Some(Observation::from(TranscriptReceived {
            epoch,
            speaker,
            text,
        }))
    };
    seen.extend(transcript(Speaker::User, &content.input_transcription));
    if let Some(turn) = &content.model_turn {
        // A function call in a model turn is ignored, because the service also sends it as a tool
        // call.
        let text = turn.spoken();
        if !text.is_empty() {
            seen.push(ModelOutputReceived { epoch, text }.into());
        }
    }
    seen.extend(transcript(Speaker::Model, &content.output_transcription));
    if content.interrupted == Some(true) {
        seen.push(TurnInterrupted { epoch }.into());
    }
    if content.turn_complete == Some(true) {
        seen.push(
            TurnCompleted {
                epoch,
                reason: content.turn_complete_reason.clone(),
            }
            .into(),
        );
    }
}

/// Adds the observations for one element of a list of calls. A piece of an unfinished call adds
/// none.
fn called(
    epoch: Seq,
    call: CallRead,
    check: &CheckArguments<'_>,
    streamed: &mut Streamed,
    seen: &mut Vec<Observation>,
) {
    let whole = match call {
        CallRead::Call(call) => streamed.take(call, None),
        CallRead::Malformed(call, error) => streamed.take(call, Some(error.to_string())),
        CallRead::Unreadable { name, error } => {
            seen.push(rejected(epoch, &error));
            seen.extend(piece_lost(epoch, name.as_deref(), check, streamed));
            Vec::new()
        }
    };
    let whole = whole.into_iter();
    seen.extend(whole.map(|whole| received(epoch, whole, check)));
}

/// Returns the unfinished calls that fail because a piece of them may be lost.
fn piece_lost(
    epoch: Seq,
    name: Option<&str>,
    check: &CheckArguments<'_>,
    streamed: &mut Streamed,
) -> impl Iterator<Item = Observation> {
    let refused = streamed.lose_piece(name).into_iter();
    refused.map(move |whole| received(epoch, whole, check))
}

fn rejected(epoch: Seq, error: &DecodeError) -> Observation {
    let problem = error.to_string();
    FrameRejected { epoch, problem }.into()
}

fn received(epoch: Seq, (call, problem): Whole, check: &CheckArguments<'_>) -> Observation {
    let name = call.name.filter(|name| !name.is_empty());
    let mut original_args = None;
    let (args, malformed_args) = match call
        .args
        .as_ref()
        .map(|args| (args.as_str(), Json::parse(args.as_str())))
    {
        None => (None, None),
        Some((_, Ok(args))) if args.is_object() => (Some(args), None),
        Some((text, Ok(given))) => match given.object_in_text() {
            Some(args) => {
                original_args = Some(given);
                (Some(args), None)
            }
            None => (
                None,
                Some((text, "the arguments must be a JSON object".to_owned())),
            ),
        },
        Some((text, Err(problem))) => (None, Some((text, format!("the arguments are {problem}")))),
    };
    let malformed_args = match problem {
        Some(problem) => Some(("", problem)),
        None => malformed_args,
    };
    let empty = Json::empty_object();
    let invalid_args = match (&name, &malformed_args) {
        (Some(name), None) => check(name, args.as_ref().unwrap_or(&empty)),
        (None, _) | (Some(_), Some(_)) => None,
    };
    let malformed_args = malformed_args.map(|(text, problem)| MalformedArgs {
        text: text.to_owned(),
        problem,
    });
    let id = call.id.filter(|id| !id.is_empty());
    FunctionCallReceived {
        epoch,
        id,
        name,
        args,
        malformed_args,
        invalid_args,
        sealed_args: Vec::new(),
        original_args,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    }
    .into()
}

#[cfg(test)]
#[expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use crate::live::wire::ServerMessage;

    const EPOCH: Seq = Seq(3);

    fn translate(frame: &str) -> Vec<Observation> {
        heard(EPOCH, frame, 64, &|_, _| None, &mut Streamed::default()).observations
    }

    fn call(frame: &str) -> FunctionCallReceived {
        let [Observation::FunctionCallReceived(call)] = &translate(frame)[..] else {
            panic!("no call in {frame}")
        };
        call.clone()
    }

    #[test]
    fn interrupted_and_turn_complete_in_one_frame_are_both_seen() {
        let seen = translate(r#"{"serverContent":{"interrupted":true,"turnComplete":true}}"#);
        let kinds: Vec<_> = seen.iter().map(Observation::kind).collect();
        assert_eq!(kinds, ["turn_interrupted", "turn_completed"]);
    }

    #[test]
    fn a_call_without_arguments_is_a_call() {
        let call = call(r#"{"toolCall":{"functionCalls":[{"id":"c1","name":"ping"}]}}"#);
        assert_eq!(
            (call.name.as_deref(), call.args, call.malformed_args),
            (Some("ping"), None, None)
        );
    }

    #[test]
    fn non_object_or_repeated_key_args_are_kept_as_text() {
        for args in ["[1]", r#"{"a":1,"a":2}"#, r#""x""#, r#""[1]""#] {
            let call = call(&format!(
                r#"{{"toolCall":{{"functionCalls":[{{"name":"p","args":{args}}}]}}}}"#
            ));
            assert_eq!(call.args, None);
            assert_eq!(call.malformed_args.unwrap().text, args);
        }
    }

    #[test]
    fn args_in_a_string_are_parsed_and_the_string_kept() {
        let call = call(
            r#"{"toolCall":{"functionCalls":[{"name":"p","args":"{ \"n\": 9007199254740993 }"}]}}"#,
        );
        assert_eq!(call.args.unwrap().as_str(), r#"{"n":9007199254740993}"#);
        let kept = call.original_args.unwrap();
        assert_eq!(kept.as_str(), r#""{ \"n\": 9007199254740993 }""#);
        assert_eq!(call.malformed_args, None);
    }

    #[test]
    fn oversized_call_stays_a_call() {
        let large = "x".repeat(5 << 20);
        let call = call(&format!(
            r#"{{"toolCall":{{"functionCalls":[{{"id":"c","name":"p","args":{{"x":"{large}"}}}}]}}}}"#
        ));
        assert_eq!((call.id.as_deref(), call.args), (Some("c"), None));
        assert!(call.malformed_args.unwrap().problem.contains("limit"));
    }

    #[test]
    fn oversized_text_is_rejected_alone() {
        let large = "x".repeat(5 << 20);
        let seen = translate(&format!(
            r#"{{"serverContent":{{"outputTranscription":{{"text":"{large}"}},"turnComplete":true}}}}"#
        ));
        let kinds: Vec<_> = seen.iter().map(Observation::kind).collect();
        assert_eq!(kinds, ["frame_rejected", "turn_completed"]);
    }

    #[test]
    fn large_numbers_keep_their_digits() {
        let call = call(
            r#"{"toolCall":{"functionCalls":[{"name":"p","args":{ "n": 9007199254740993 }}]}}"#,
        );
        assert_eq!(call.args.unwrap().as_str(), r#"{"n":9007199254740993}"#);
    }

    #[test]
    fn unreadable_frame_is_recorded_and_harmless() {
        for frame in ["", "nonsense", "[]", r#"{"toolCall":7}"#] {
            assert_eq!(
                translate(frame).first().map(Observation::kind),
                Some("frame_rejected"),
                "{frame}"
            );
        }
        assert_eq!(translate(r#"{"brandNew":{}}"#), []);
    }

    #[test]
    fn only_the_fingerprint_of_a_handle_is_recorded() {
        let frame = r#"{"sessionResumptionUpdate":{"newHandle":"very-secret","resumable":true}}"#;
        let Heard {
            observations,
            handle,
        } = heard(EPOCH, frame, 64, &|_, _| None, &mut Streamed::default());
        let [Observation::ResumptionHandleReceived(it)] = &observations[..] else {
            panic!("{observations:?}")
        };
        assert_eq!(it.fingerprint.as_ref().map(String::len), Some(16));
        let message = ServerMessage::decode(frame).unwrap();
        assert!(!format!("{observations:?}{handle:?}{message:?}").contains("secret"));
        assert_eq!(handle.unwrap().reveal(), "very-secret");
    }
}
