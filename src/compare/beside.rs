//! The story of a fixture, and of a session that is compared with a fixture.

use std::collections::BTreeMap;

use super::story::{Place, Story, StoryBuilder};
use super::told::{policy_of, read};
use crate::fixture::{self, Fixture};
use crate::ledger::Ledger;
use crate::session::{Event, Fact, Json, Observation, SessionId, Speaker};
use crate::story::{Field, Line, Said, Teller};

/// The story that a fixture records, for a comparison. `None` if the fixture has no story, because
/// its decisions are unknown then.
///
/// ```
/// use recount::compare::recorded;
/// use recount::fixture::Fixture;
///
/// let fixture = Fixture::load("fixtures/conversations/refund")?;
/// let story = recorded(&fixture).unwrap();
/// assert_eq!(story.turns[0].user, "Please refund order 17.");
/// assert_eq!(story.calls[0].decisions[0], "policy_decided verdict=ask rule=confirm");
/// # Ok::<(), recount::fixture::Error>(())
/// ```
pub fn recorded(fixture: &Fixture) -> Option<Story> {
    story(fixture, &[])
}

/// Like [`recorded`], and without the fields that the other fixture has redacted.
///
/// ```
/// use recount::compare::{recorded, recorded_beside};
/// use recount::fixture::Fixture;
///
/// let fixture = Fixture::load("fixtures/conversations/refund")?;
/// assert_eq!(recorded_beside(&fixture, &fixture), recorded(&fixture));
/// # Ok::<(), recount::fixture::Error>(())
/// ```
pub fn recorded_beside(fixture: &Fixture, other: &Fixture) -> Option<Story> {
    let (own, others) = (&fixture.header().redacted, &other.header().redacted);
    let others = others.iter().filter(|it| !own.contains(it));
    let others: Vec<String> = others.cloned().collect();
    story(fixture, &others)
}

fn story(fixture: &Fixture, fields: &[String]) -> Option<Story> {
    let mut builder = StoryBuilder::default();
    for line in fixture.story_without(fields)? {
        let Some(line) = Line::read(&line) else {
            continue;
        };
        let place = Place::Line(line.number);
        let policies = fixture.policies_at(line.number);
        apply(&mut builder, &line, place, |tool| {
            Json::of_serialized(&policies.of(tool))
        });
    }
    Some(builder.story())
}

/// Reads a session for a comparison with a fixture: in the words of a fixture's story, without the
/// fields that the fixture has redacted. With the key of the session, sealed values are known and
/// redacted, too.
///
/// # Errors
/// [`fixture::Error::Ledger`] as for [`told`](super::told). [`fixture::Error::NoShape`] if an event
/// needs a redacted field.
pub async fn told_beside(
    fixture: &Fixture,
    ledger: &Ledger,
    session: SessionId,
) -> Result<Story, fixture::Error> {
    let (mut facts, mut policies) = (Vec::new(), BTreeMap::new());
    read(ledger, session, |state, fact| {
        if let Some(tool) = tool_of(fact) {
            policies.insert(fact.seq, policy_of(state, tool));
        }
        facts.push(fact.clone());
    })
    .await?;
    let (mut builder, mut teller) = (StoryBuilder::default(), Teller::default());
    let key = ledger.key(session).await?;
    for fact in fixture.redacted_facts(&facts, key.as_ref())? {
        let told = teller.tell(&fact);
        if let Some(line) = told.as_deref().and_then(Line::read) {
            let policy = policies.remove(&fact.seq);
            let policy = policy.unwrap_or_else(Json::empty_object);
            apply(&mut builder, &line, Place::Seq(fact.seq), |_| policy);
        }
    }
    Ok(builder.story())
}

fn tool_of(fact: &Fact) -> Option<&str> {
    if let Event::Observed(Observation::FunctionCallReceived(it)) = &fact.event {
        Some(it.name.as_deref().unwrap_or_default())
    } else {
        None
    }
}

/// The mark of a decision of the engine in a line.
const DECIDED: &str = "→";

fn apply(
    builder: &mut StoryBuilder,
    line: &Line<'_>,
    place: Place,
    policy: impl FnOnce(&str) -> Json,
) {
    let said = |name| line.text(name).unwrap_or_default();
    match (line.who, line.kind) {
        (DECIDED, "phase_entered") => builder.enter(&said("phase")),
        (DECIDED, _) => {
            if let Some(call) = named(&line.fields, &["call"]) {
                builder.decide(line.number, call, shown(line));
            }
        }
        (_, "function_call_received") => {
            let tool = said("name");
            let args = line.value("args").map(Json::parse).and_then(Result::ok);
            let args = args.or_else(|| malformed(&line.fields));
            let args = args.unwrap_or_else(Json::empty_object);
            let policy = policy(&tool);
            builder.call(line.number, place, &tool, args, policy);
        }
        (_, "user_text_sent") => builder.say(Speaker::User, &said("text")),
        (_, "model_output_received") => builder.say(Speaker::Model, &said("text")),
        (_, "transcript_received") => {
            let speaker = match line.value("speaker") {
                Some("user") => Speaker::User,
                Some(_) | None => Speaker::Model,
            };
            builder.say(speaker, &said("text"));
        }
        (_, "session_opened") => builder.known_by("agent", &said("agent")),
        (_, "connected") => builder.known_by("model", &said("model")),
        (_, "session_closed") => builder.known_by("closed", &said("reason")),
        (_, "turn_completed") => builder.end_turn(false),
        (_, "turn_interrupted") => builder.end_turn(true),
        (_, "paused" | "unpaused") => builder.add_event(place, shown(line)),
        (_, _) => {
            if let Some(about) = named(&line.fields, &["call", "request", "leave"]) {
                builder.report(line.number, about, shown(line));
            } else if line.kind == "state_changed" {
                builder.add_event(place, shown(line));
            }
        }
    }
}

/// Arguments that are no object, as their original text.
fn malformed(fields: &[Field<'_>]) -> Option<Json> {
    let parts = fields.iter().find_map(|it| match &it.said {
        Said::Parts(parts) if it.name == "malformed_args" => Some(parts),
        Said::Parts(_) | Said::Value(_) => None,
    });
    let text = parts?.iter().find(|it| it.name == "text")?;
    match &text.said {
        Said::Value(text) if text.starts_with('"') => Json::parse(text).ok(),
        Said::Value(word) => Some(Json::of(&(*word).into())),
        Said::Parts(_) => None,
    }
}

/// The first line number in a field with one of these names, at any depth.
fn named(fields: &[Field<'_>], names: &[&str]) -> Option<u64> {
    fields.iter().find_map(|it| match &it.said {
        Said::Value(value) if names.contains(&it.name) => value.parse().ok(),
        Said::Value(_) => None,
        Said::Parts(parts) => named(parts, names),
    })
}

/// The fields that hold numbers of other lines, or ids.
const NAMES: [&str; 12] = [
    "after",
    "asked",
    "call",
    "id",
    "ids",
    "leave",
    "of",
    "phase",
    "request",
    "response",
    "through",
    "unanswered",
];

/// A line without its number, its author, and its references to other lines.
fn shown(line: &Line<'_>) -> String {
    let said = without_names(&line.fields);
    format!("{} {said}", line.kind).trim_end().to_owned()
}

fn without_names(fields: &[Field<'_>]) -> String {
    let one = |it: &Field<'_>| match &it.said {
        Said::Value(value) if NAMES.contains(&it.name) && is_name(value) => None,
        Said::Value(value) => Some(format!("{}={value}", it.name)),
        Said::Parts(parts) => Some(format!("{}({})", it.name, without_names(parts))),
    };
    fields.iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

/// True if the value is a line number or an id.
fn is_name(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_digit() || "#,".contains(c))
}
