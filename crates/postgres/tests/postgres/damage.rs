//! Rows that are missing or damaged are told, and nothing is read as if they had never been.

use recount::engine;
use recount::ledger;
use recount::prelude::Actor;
use recount::session::Json;
use recount::tool::ToolConfirmation;
use recount_journal::testing::Stream;
use recount_journal::{Commit, Error, Journal, Span};
use recount_postgres::PostgresJournal;
use uuid::Uuid;

use crate::nodes::Nodes;
use crate::place::Place;

/// A journal with two streams of three appends each, with two records an append.
fn two_streams(place: &Place) -> (PostgresJournal, [Stream; 2]) {
    let node = place.options(place.address(), "a").open().unwrap();
    let mut streams = [Stream::new(1), Stream::new(2)];
    for _ in 0..3 {
        for stream in &mut streams {
            stream.append(&node, &["{}", "{}"]);
        }
    }
    (node, streams)
}

/// The stream and the seq of an error about damage.
fn at<T: std::fmt::Debug>(told: Result<T, Error>) -> (Uuid, u64) {
    match told.unwrap_err() {
        Error::Damaged {
            session: Some(session),
            seq: Some(seq),
            ..
        } => (session, seq),
        other => panic!("{other}"),
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn missing_row_is_told_by_every_read() {
    let place = Place::new();
    let (node, [damaged, whole]) = two_streams(&place);
    let session = damaged.session;
    let delete = format!("DELETE FROM append WHERE session = '{session}' AND first = 3");
    assert_eq!(place.execute(&delete).await, 1);
    assert_eq!(at(node.read(session, 1, 9).await), (session, 3));
    assert_eq!(at(node.read(session, 4, 9).await), (session, 4));
    assert_eq!(node.read(session, 1, 2).await.unwrap(), damaged.lines[..2]);
    assert_eq!(node.read(session, 5, 9).await.unwrap(), damaged.lines[4..]);
    let span = |session, from| Span {
        session,
        from,
        limit: 4,
    };
    let spans = vec![span(whole.session, 3), span(session, 3)];
    assert_eq!(at(node.read_each(spans).await), (session, 3));
    // What stands before the damage is followed.
    let before = node.follow(1).await.unwrap();
    assert_eq!(before.appends, [(whole.session, whole.lines[..2].to_vec())]);
    assert_eq!(at(node.follow(2).await), (session, 3));
    let delete = format!("DELETE FROM append WHERE session = '{session}' AND first = 1");
    assert_eq!(place.execute(&delete).await, 1);
    assert_eq!(
        at(node.read_each(vec![span(session, 1)]).await),
        (session, 1)
    );
    whole.assert_in(&node);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn row_with_lines_too_few_is_told_by_every_read() {
    let place = Place::new();
    let (node, [damaged, whole]) = two_streams(&place);
    let session = damaged.session;
    for lines in ["", "{}", "{}\n{}\n{}"] {
        let update = format!(
            "UPDATE append SET lines = '{lines}' WHERE session = '{session}' AND first = 3"
        );
        assert_eq!(place.execute(&update).await, 1);
        assert_eq!(at(node.read(session, 1, 9).await), (session, 3));
        let span = Span {
            session,
            from: 4,
            limit: 1,
        };
        assert_eq!(at(node.read_each(vec![span]).await), (session, 3));
        assert_eq!(at(place.reader().follow(2).await), (session, 3));
    }
    whole.assert_in(&node);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn verification_reads_past_damage() {
    let place = Place::new();
    let (_node, [damaged, whole]) = two_streams(&place);
    let session = damaged.session;
    for change in [
        "DELETE FROM append",
        "UPDATE append SET lines = '\\xff0aff'",
    ] {
        let first = if change.starts_with("DELETE") { 3 } else { 5 };
        let change = format!("{change} WHERE session = '{session}' AND first = {first}");
        assert_eq!(place.execute(&change).await, 1);
    }
    let options = PostgresJournal::options(place.address()).past_damage();
    let reader = options.open().unwrap();
    let (mut commits, mut position): (Vec<Commit>, _) = (Vec::new(), 0);
    while position < reader.position().await.unwrap() {
        let commit = reader.follow(position).await.unwrap();
        position = commit.position;
        commits.push(commit);
    }
    let of = |session| {
        let appends = commits.iter().flat_map(|it| &it.appends);
        let of_session = appends.filter(move |(it, _)| *it == session);
        of_session.map(|(_, lines)| lines.len()).collect::<Vec<_>>()
    };
    assert_eq!(of(whole.session), [2, 2, 2]);
    assert_eq!(of(session), [2, 0, 2]);
}

/// The place of the damage that keeps a node from going on with a session.
fn stopped_at<T: std::fmt::Debug>(told: Result<T, ledger::Error>) -> u64 {
    match told.unwrap_err() {
        ledger::Error::Journal(error) => at(Err::<(), _>(error)).1,
        other => panic!("{other}"),
    }
}

/// A node would go on from something else than what was decided. The other sessions are listed and
/// go on.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_with_lost_or_altered_records_goes_on_nowhere() {
    let Nodes {
        place, a, b, ran, ..
    } = Nodes::new().await;
    let mut requests = Vec::new();
    for _ in 0..3 {
        let live = a.session("support").open().await.unwrap();
        let (args, by) = (Json::empty_object(), Actor::embedder("pipeline"));
        live.begin_call("refund", args, "k", by).await.unwrap();
        let request = live.pending().await.unwrap().remove(0).id;
        requests.push((request, live.session_id()));
    }
    a.shutdown(std::time::Duration::ZERO).await.unwrap();
    let [(lost, without_end), (altered, with_other), (sound, _)] = requests[..] else {
        panic!("three were asked");
    };
    let head = b.ledger().journal().head(without_end.0).await.unwrap();
    let last = head.unwrap().seq;
    let delete = format!("DELETE FROM append WHERE session = '{without_end}' AND last = {last}");
    assert_eq!(place.execute(&delete).await, 1);
    let alter = format!(
        "UPDATE append SET lines = convert_to(
             replace(convert_from(lines, 'UTF8'), '\"refund\"', '\"refuns\"'), 'UTF8')
         WHERE session = '{with_other}' AND convert_from(lines, 'UTF8') LIKE '%function_call_rec%'"
    );
    assert_eq!(place.execute(&alter).await, 1);
    assert!(stopped_at(b.ledger().load(without_end).await) <= last);
    stopped_at(b.ledger().load(with_other).await);
    let delete = format!(
        "DELETE FROM append WHERE session = '{without_end}'
             AND convert_from(lines, 'UTF8') LIKE '%\"confirmation_requested\"%'"
    );
    assert_eq!(place.execute(&delete).await, 1);
    let listed = b.pending().await.unwrap();
    assert_eq!(listed.len(), 3);
    let is_unread = |id| listed.iter().any(|it| it.id == id && it.sealed);
    assert!(is_unread(lost) && !is_unread(sound));
    let answer = async |request| {
        let by = Actor::embedder("ada");
        b.answer(request, ToolConfirmation::confirmed(), by).await
    };
    for damaged in [lost, altered] {
        let error: engine::Error = answer(damaged).await.unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
    }
    answer(sound).await.unwrap();
    let mut ran = ran;
    assert_eq!(ran.recv().await, Some("b"));
    assert!(ran.try_recv().is_err());
    b.shutdown(std::time::Duration::from_secs(60))
        .await
        .unwrap();
}
