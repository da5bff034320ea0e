//! The spans of every recorded journal, compared with its audit, and of generated histories.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use recount::audit::{AuditedCall, QuestionEnd, calls_of};
use recount::journal::block_on;
use recount::ledger::Ledger;
use recount::session::testing::{histories, toolbox};
use recount::session::{Fact, Seq, SessionId, SpanId, SpanOf};
use recount_traces::{Content, ExportRequest, Source, Span, Tracer, Value, spans_of};

#[path = "support/mod.rs"]
mod support;

use support::{Recorded, all};

const EVERYTHING: Content = Content {
    arguments: true,
    results: true,
    people: true,
    labels: true,
};

fn spans(recorded: &Recorded, content: Content) -> Vec<Span> {
    block_on(spans_of(&recorded.ledger(), recorded.session, content)).unwrap()
}

fn bytes(spans: &[Span]) -> String {
    let mut out = Vec::new();
    ExportRequest::write_lines(&Source::default(), spans, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn number(span: &Span, key: &str) -> Option<u64> {
    match span.attribute(key)? {
        Value::Number(number) => Some(u64::try_from(*number).unwrap()),
        Value::Text(_) | Value::Flag(_) => None,
    }
}

fn of<'s>(spans: &'s [Span], operation: &str) -> Vec<&'s Span> {
    let named = |it: &&Span| it.name.split(' ').next() == Some(operation);
    spans.iter().filter(named).collect()
}

#[test]
fn same_journal_gives_same_bytes() {
    for recorded in all() {
        let (first, second) = (spans(&recorded, EVERYTHING), spans(&recorded, EVERYTHING));
        assert_eq!(bytes(&first), bytes(&second), "{}", recorded.name);
        assert!(!first.is_empty(), "{}", recorded.name);
    }
}

#[test]
fn every_ended_call_has_exactly_one_span() {
    let mut outcomes = BTreeSet::new();
    for recorded in all() {
        let spans = spans(&recorded, Content::default());
        let spans = of(&spans, "execute_tool");
        let calls = block_on(calls_of(&recorded.ledger(), recorded.session)).unwrap();
        let mut ended = Vec::new();
        for call in calls.iter().filter(|it| it.ended.is_some()) {
            ended.push(call.seq);
            let own: Vec<_> = spans
                .iter()
                .filter(|it| number(it, "recount.call.seq") == Some(call.seq.0))
                .collect();
            assert_eq!(own.len(), 1, "{} {}", recorded.name, call.seq);
            check_call(own[0], call, &recorded);
            outcomes.insert(own[0].text("recount.outcome").unwrap().to_owned());
        }
        assert_eq!(spans.len(), ended.len(), "{}", recorded.name);
    }
    let expected = [
        "cancelled",
        "denied",
        "expired",
        "failed",
        "refused",
        "returned",
        "supplied",
        "timed_out",
        "unknown",
        "withdrawn",
    ];
    assert_eq!(outcomes, expected.map(str::to_owned).into());
}

fn check_call(span: &Span, call: &AuditedCall, recorded: &Recorded) {
    let end = call.ended.as_ref().unwrap();
    assert_eq!((span.start, span.end), (call.called_at, end.at));
    assert_eq!(span.ended_by, end.seq);
    let of = SpanOf::Call(call.seq);
    assert_eq!(span.span_id, recorded.session.span_id(of));
    assert_eq!(span.text("gen_ai.tool.name"), Some(call.tool.as_str()));
    let outcome = serde_json::to_value(end.outcome).unwrap();
    assert_eq!(span.text("recount.outcome"), outcome.as_str());
    let attempts = number(span, "recount.attempts").unwrap();
    assert_eq!(
        attempts,
        call.runs.last().map_or(0, |it| u64::from(it.attempt))
    );
    let is_success = ["returned", "supplied"].contains(&outcome.as_str().unwrap());
    assert_eq!(span.error.is_none(), is_success);
    assert_eq!(span.text("error.type").is_none(), is_success);
}

#[test]
fn runs_and_questions_are_those_of_the_audit() {
    let (mut waits, mut runs_seen) = (0, 0);
    for recorded in all() {
        let spans = spans(&recorded, Content::default());
        let calls = block_on(calls_of(&recorded.ledger(), recorded.session)).unwrap();
        let questions = calls.iter().flat_map(|it| &it.questions);
        let ended = questions.filter(|it| it.end != QuestionEnd::Open);
        let asked: BTreeMap<_, _> = ended
            .map(|it| {
                let end = (
                    it.end.as_str().to_owned(),
                    it.asked_at,
                    it.ended_at.unwrap(),
                );
                (recorded.session.span_id(SpanOf::Request(it.seq)), end)
            })
            .collect();
        let waited = of(&spans, "await_approval").into_iter().map(|it| {
            let end = it.text("recount.request.end").unwrap().to_owned();
            (it.span_id, (end, it.start, it.end))
        });
        let waited: BTreeMap<_, _> = waited.collect();
        assert_eq!(waited, asked, "{}", recorded.name);
        waits += waited.len();
        // A run whose end is not on record ends where the session sees that it was cut off.
        let runs = calls.iter().filter(|it| it.ended.is_some());
        let started: BTreeMap<_, _> = runs
            .flat_map(|it| &it.runs)
            .map(|it| {
                let id = recorded.session.span_id(SpanOf::Run(it.seq));
                (id, (it.started_at, it.ended_at))
            })
            .collect();
        let ran: BTreeMap<SpanId, &Span> = of(&spans, "run")
            .into_iter()
            .map(|it| (it.span_id, it))
            .collect();
        for (id, (start, end)) in &started {
            let span = ran[id];
            assert_eq!(span.start, *start, "{}", recorded.name);
            match end {
                Some(end) => assert_eq!(span.end, *end, "{}", recorded.name),
                None => assert!(span.error.is_some(), "{} {span:?}", recorded.name),
            }
        }
        let open = calls.iter().filter(|it| it.ended.is_none());
        let open: BTreeSet<_> = open.map(|it| Some(it.seq.0)).collect();
        for (id, span) in &ran {
            let is_of_open = open.contains(&number(span, "recount.call.seq"));
            assert!(is_of_open || started.contains_key(id), "{}", recorded.name);
        }
        runs_seen += started.len();
    }
    assert!(waits >= 20 && runs_seen >= 30, "{waits} {runs_seen}");
}

#[test]
fn spans_form_one_tree_under_their_session() {
    for recorded in all() {
        check_tree(
            &spans(&recorded, EVERYTHING),
            recorded.session,
            &recorded.name,
        );
    }
}

fn check_tree(spans: &[Span], session: SessionId, name: &str) {
    let mut ids = BTreeSet::new();
    let root = session.span_id(SpanOf::Session);
    for span in spans {
        assert!(span.start <= span.end, "{name}: {span:?}");
        assert!(ids.insert(span.span_id), "{name}: {span:?}");
        assert_eq!(span.trace_id, session.trace_id());
        assert_eq!(span.parent.is_none(), span.span_id == root, "{name}");
    }
    // A parent may be open still; it ends with a later record.
    let ended_by: Vec<Seq> = spans.iter().map(|it| it.ended_by).collect();
    assert!(ended_by.is_sorted(), "{name}: {ended_by:?}");
}

#[test]
fn content_is_only_there_on_demand() {
    let (mut texts, mut names) = (0, 0);
    for recorded in all() {
        let ledger: Ledger = recorded.ledger();
        let silent = bytes(&spans(&recorded, Content::default()));
        let telling = bytes(&spans(&recorded, EVERYTHING));
        let calls = block_on(calls_of(&ledger, recorded.session)).unwrap();
        for call in &calls {
            let args = serde_json::to_string(call.args_text()).unwrap();
            let has_args = call.args_text().len() > 2;
            if has_args {
                assert!(!silent.contains(&args), "{}", recorded.name);
            }
            if has_args && call.ended.is_some() && call.edited_args.is_none() {
                texts += usize::from(telling.contains(&args));
            }
            let answers = call.questions.iter().filter_map(|it| it.by.as_ref());
            for person in answers {
                let name = format!(r#"{{"stringValue":"{}"}}"#, person.name);
                assert!(!silent.contains(&name), "{}", recorded.name);
                names += usize::from(telling.contains(&name));
            }
        }
        assert!(!silent.contains("gen_ai.tool.call.result"));
    }
    assert!(texts >= 10 && names >= 10, "{texts} texts, {names} names");
}

#[test]
fn sealed_session_never_has_content() {
    let recorded = Recorded::named("approved");
    let ledger = recorded.ledger();
    let facts = block_on(ledger.facts(recorded.session, Seq(1), 1000)).unwrap();
    let traced = |sealed, content| {
        let mut tracer = Tracer::new(recorded.session, sealed, content);
        let mut spans = Vec::new();
        for fact in &facts {
            block_on(ledger.provide(tracer.session_mut(), fact)).unwrap();
            spans.extend(tracer.apply(fact));
        }
        bytes(&spans)
    };
    let sealed = traced(true, EVERYTHING);
    assert!(traced(false, EVERYTHING).contains("recount.approver.name"));
    for key in [
        "call.arguments",
        "call.result",
        "approver.name",
        "approver.ref",
    ] {
        assert!(!sealed.contains(key), "{key}");
    }
    assert_eq!(sealed, traced(true, Content::default()));
}

#[test]
fn outcome_found_later_is_a_span_of_its_own() {
    let recorded = Recorded::named("cut_off_unknown_and_reconciled");
    let spans = spans(&recorded, Content::default());
    let call = of(&spans, "execute_tool")[0];
    assert_eq!(call.text("error.type"), Some("in_doubt"));
    let found = of(&spans, "await_outcome")[0];
    assert_eq!(found.parent, Some(call.span_id));
    assert_eq!(found.start, call.end);
    let run = of(&spans, "run")[0];
    assert_eq!(run.text("error.type"), Some("in_doubt"));
}

#[test]
fn times_are_nanoseconds_and_ids_are_hex() {
    let recorded = Recorded::named("approved");
    let spans = spans(&recorded, Content::default());
    let line: serde_json::Value = serde_json::from_str(bytes(&spans).trim()).unwrap();
    let scope = &line["resourceSpans"][0]["scopeSpans"][0];
    let json = &scope["spans"][0];
    assert_eq!(json["traceId"], recorded.session.0.simple().to_string());
    let start = (spans[0].start.0 * 1000).to_string();
    assert_eq!(json["startTimeUnixNano"], start);
    assert_eq!(scope["schemaUrl"], recount_traces::SCHEMA_URL);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_history_has_one_span_a_call(
        history in histories(toolbox().plain("look_up").gated("pay"))
    ) {
        let session = history.session();
        let trace = |facts: &[Fact]| {
            let mut tracer = Tracer::new(session.id, false, Content::default());
            *tracer.session_mut().library_mut() = session.library().clone();
            let spans: Vec<_> = facts.iter().flat_map(|it| tracer.apply(it)).collect();
            spans
        };
        let spans = trace(history.facts());
        check_tree(&spans, session.id, "a history");
        let calls = of(&spans, "execute_tool").len();
        prop_assert_eq!(calls, session.settled.len());
        // A span never changes: those of a beginning are the beginning of the spans.
        let half = trace(&history.facts()[..history.facts().len() / 2]);
        prop_assert_eq!(&spans[..half.len()], &half[..]);
    }
}
