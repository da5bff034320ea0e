//! The metrics for Prometheus.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use recount::session::{About, OpenKind, Seq, SessionId, Timestamp};
use recount_evidence::AnchorStatus;
use recount_journal::{Error, OpenItem};
use recount_notify::SinkStatus;

use crate::access::Role;
use crate::metrics::{CONTENT_TYPE, Exposition, Kind};
use crate::problems::Problem;
use crate::requests::Params;
use crate::routes::caller::Caller;

/// The number of open items in one read of the index.
const READ: usize = 512;

/// The time for what is read from the journal. A scrape ends after 10 s, unless configured, and is
/// to show that the journal is out of reach.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Returns metrics about the sessions that the caller may read, in the text format of Prometheus.
///
/// Those of the journal and the counters of the whole service are only shown to a reader of all
/// sessions. If the journal cannot be read, or does not answer within 5 s, these remain.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "getMetrics",
    tag = "health",
    responses(
        (status = 200, description = "The metrics", body = String, content_type = "text/plain"),
    ),
)]
pub(crate) async fn get(caller: Caller, params: Params) -> Result<impl IntoResponse, Problem> {
    params.only(&[])?;
    let reads_everything = caller.principal.role_over_everything() >= Some(Role::Viewer);
    let mut text = Exposition::default();
    let open = tokio::time::timeout(READ_WITHIN, Open::of(&caller)).await;
    let open = open.unwrap_or_else(|_| Err(unanswered()));
    let is_readable = open.is_ok();
    match open {
        Ok(open) => open.write(&mut text, caller.service.access.now()),
        // The metrics of the journal tell an operator about it.
        Err(_) if reads_everything => {}
        Err(problem) => return Err(problem),
    }
    if reads_everything {
        write_journal(&caller, &mut text).await;
        write_service(&caller, &mut text);
        write_reads(&caller, &mut text);
        if is_readable {
            write_sinks(&caller, &mut text).await;
        }
        write_checkpoints(&caller, &mut text);
    }
    let content_type = HeaderValue::from_static(CONTENT_TYPE);
    Ok(([(header::CONTENT_TYPE, content_type)], text.text()))
}

/// The problem of a journal that does not answer in time.
fn unanswered() -> Problem {
    Error::io("read the open work")(io::ErrorKind::TimedOut.into()).into()
}

/// The open work that the caller sees.
#[derive(Default)]
struct Open {
    sessions: u64,
    in_doubt: u64,
    /// The numbers of requests and calls that wait for an answer, by tool.
    pending: BTreeMap<String, u64>,
    /// The calls that clients may claim, and those that they run, by tool.
    claimable: BTreeMap<String, u64>,
    claimed: BTreeMap<String, u64>,
    /// The time since which the oldest request or call waits.
    oldest: Option<Timestamp>,
}

impl Open {
    async fn of(caller: &Caller) -> Result<Open, Problem> {
        caller.service.catalogue.drop_erased().await?;
        let (mut open, mut place) = (Open::default(), None);
        loop {
            let page = caller.ledger().journal().open_work(place, READ).await?;
            let Some(last) = page.last() else {
                return Ok(open);
            };
            place = Some((last.session, last.item));
            let mut seen = Vec::with_capacity(page.len());
            for item in page {
                if caller.sees(SessionId(item.session)).await? {
                    seen.push(item);
                }
            }
            open.add(caller, &seen).await?;
        }
    }

    async fn add(&mut self, caller: &Caller, items: &[OpenItem]) -> Result<(), Problem> {
        for asked in caller.service.catalogue.pending_of(items).await? {
            self.in_doubt += u64::from(asked.about == About::InDoubt);
            *self.pending.entry(asked.tool).or_default() += 1;
        }
        for item in items {
            let is = |kind: OpenKind| item.kind == kind.as_str();
            if is(OpenKind::Session) {
                self.sessions += 1;
            }
            if is(OpenKind::Confirmation) || is(OpenKind::Paused) {
                let since = Timestamp(item.since_us);
                self.oldest = Some(self.oldest.map_or(since, |it| it.min(since)));
            }
            let counted = if is(OpenKind::Paused) {
                &mut self.pending
            } else if is(OpenKind::Claimable) {
                &mut self.claimable
            } else if is(OpenKind::Claimed) {
                &mut self.claimed
            } else {
                continue;
            };
            let (session, call) = (SessionId(item.session), Seq(item.item));
            let tool = caller.tool_shown(session, call).await?;
            *counted.entry(tool).or_default() += 1;
        }
        Ok(())
    }

    fn write(&self, text: &mut Exposition, now: Timestamp) {
        let sessions = self.sessions as f64;
        text.single(
            "recount_sessions_open",
            Kind::Gauge,
            "Open sessions.",
            sessions,
        );
        let by_tool = [
            (
                "recount_pending",
                "Requests and calls that wait for an answer.",
                &self.pending,
            ),
            (
                "recount_claimable",
                "Calls that a client may claim.",
                &self.claimable,
            ),
            ("recount_claims", "Calls that clients run.", &self.claimed),
        ];
        for (name, help, tools) in by_tool {
            text.metric(name, Kind::Gauge, help);
            for (tool, number) in tools {
                text.sample(name, &[("tool", tool.as_str())], *number as f64);
            }
        }
        let age_us = self
            .oldest
            .map_or(0, |it| now.0.saturating_sub(it.0).max(0));
        text.single(
            "recount_oldest_pending_age_seconds",
            Kind::Gauge,
            "The time for which the oldest of them has waited; 0 without one.",
            age_us as f64 / 1e6,
        );
        text.single(
            "recount_in_doubt",
            Kind::Gauge,
            "Interrupted calls about which a person is asked.",
            self.in_doubt as f64,
        );
    }
}

/// Adds the metrics of the journal.
async fn write_journal(caller: &Caller, text: &mut Exposition) {
    let is_writable = caller.service.check_writable().await.is_ok();
    text.single(
        "recount_journal_writable",
        Kind::Gauge,
        "1 if the journal takes records, 0 if it rejects them.",
        f64::from(u8::from(is_writable)),
    );
    // A journal in memory has no disk, and one whose disk is gone cannot report it.
    let Ok(Some(space)) = caller.ledger().journal().space() else {
        return;
    };
    text.single(
        "recount_journal_free_bytes",
        Kind::Gauge,
        "Free bytes on the disk of the journal.",
        space.free as f64,
    );
    text.single(
        "recount_journal_floor_bytes",
        Kind::Gauge,
        "Bytes that stay free: with fewer, the journal rejects records.",
        space.floor as f64,
    );
}

/// Adds the metrics of the recording of reads.
fn write_reads(caller: &Caller, text: &mut Exposition) {
    let Some(recorder) = &caller.service.reads else {
        return;
    };
    let status = recorder.status();
    let name = "recount_reads_total";
    text.metric(
        name,
        Kind::Counter,
        "Reads of sessions: written, counted as repetitions, and served without a record.",
    );
    let numbers = [
        ("recorded", status.recorded),
        ("repeated", status.repeated),
        ("missed", status.missed),
    ];
    for (how, number) in numbers {
        text.sample(name, &[("record", how)], number as f64);
    }
    text.single(
        "recount_reads_recordable",
        Kind::Gauge,
        "1 if reads go on record, 0 if the access journal rejects them.",
        f64::from(u8::from(status.error.is_none())),
    );
}

/// Adds the metrics of the whole service.
fn write_service(caller: &Caller, text: &mut Exposition) {
    let service = &caller.service;
    let gauges = [
        (
            "recount_streams",
            "Streams to clients.",
            service.streams.taken(),
        ),
        (
            "recount_waiting_requests",
            "Requests that wait for an outcome.",
            service.waits.taken(),
        ),
    ];
    for (name, help, value) in gauges {
        text.single(name, Kind::Gauge, help, value as f64);
    }
    text.single(
        "recount_answers_total",
        Kind::Counter,
        "Answers to confirmation requests that came over HTTP and are on record.",
        service.counters.answers() as f64,
    );
    #[cfg(feature = "jwt")]
    {
        let name = "recount_jwt_refused_total";
        text.metric(name, Kind::Counter, "Refused JWTs, by their fault.");
        for (fault, number) in service.access.refused_jwts() {
            text.sample(name, &[("fault", fault)], number as f64);
        }
    }
    let name = "recount_http_requests_total";
    text.metric(name, Kind::Counter, "HTTP requests.");
    for ((method, route, status), number) in service.counters.requests() {
        let status = status.to_string();
        let labels = [
            ("method", method),
            ("route", route.as_str()),
            ("status", status.as_str()),
        ];
        text.sample(name, &labels, number as f64);
    }
}

/// A number of a sink.
type Number<'n> = &'n dyn Fn(&SinkStatus) -> f64;

/// Adds the metrics of the sinks of notifications.
async fn write_sinks(caller: &Caller, text: &mut Exposition) {
    let Some(notifier) = &caller.service.notifier else {
        return;
    };
    // The metrics of the journal tell an operator that it cannot be read.
    let Ok(sinks) = notifier.sinks().await else {
        return;
    };
    let now = caller.service.access.now();
    let failing_us = |it: &SinkStatus| {
        let since = it.failing_since.unwrap_or(now);
        now.0.saturating_sub(since.0).max(0)
    };
    let metrics: [(&str, Kind, &str, Number<'_>); 7] = [
        (
            "recount_sink_delivered_total",
            Kind::Counter,
            "Notifications that a sink took.",
            &|it| it.delivered as f64,
        ),
        (
            "recount_sink_failures_total",
            Kind::Counter,
            "Attempts that failed.",
            &|it| it.failures as f64,
        ),
        (
            "recount_sink_queued",
            Kind::Gauge,
            "Notifications that wait for an attempt.",
            &|it| it.queued as f64,
        ),
        (
            "recount_sink_lag_commits",
            Kind::Gauge,
            "Commits of the journal that a sink has not read yet.",
            &|it| it.lag as f64,
        ),
        (
            "recount_sink_dead_letters",
            Kind::Gauge,
            "Notifications that are not tried any more.",
            &|it| it.dead_letters.len() as f64,
        ),
        (
            "recount_sink_dead_letters_dropped_total",
            Kind::Counter,
            "Dead letters that were dropped for newer ones.",
            &|it| it.dropped_dead_letters as f64,
        ),
        (
            "recount_sink_failing_seconds",
            Kind::Gauge,
            "The time since which no attempt has succeeded; 0 if the last one did.",
            &|it| failing_us(it) as f64 / 1e6,
        ),
    ];
    for (name, kind, help, value) in metrics {
        text.metric(name, kind, help);
        for sink in &sinks {
            text.sample(name, &[("sink", sink.name.as_str())], value(sink));
        }
    }
}

/// A number of an anchor.
type AnchorNumber<'n> = &'n dyn Fn(&AnchorStatus) -> f64;

/// Adds the metrics of the checkpoints and their anchors.
fn write_checkpoints(caller: &Caller, text: &mut Exposition) {
    let Some(board) = &caller.service.evidence else {
        return;
    };
    let (status, now) = (board.read(), caller.service.access.now());
    let seconds = |since: Option<Timestamp>| {
        let us = now.0.saturating_sub(since.unwrap_or(now).0).max(0);
        us as f64 / 1e6
    };
    let metrics = [
        (
            "recount_checkpoint_records_since",
            "Records that no checkpoint covers yet.",
            status.records_since as f64,
        ),
        (
            "recount_checkpoint_age_seconds",
            "The time since the last checkpoint; 0 before the first.",
            seconds(status.last.as_ref().map(|it| it.at)),
        ),
        (
            "recount_checkpoint_failing_seconds",
            "The time since which a checkpoint lacks a signature; 0 if the last one has all.",
            seconds(status.failing_since),
        ),
    ];
    for (name, help, value) in metrics {
        text.metric(name, Kind::Gauge, help);
        text.sample(name, &[], value);
    }
    let metrics: [(&str, &str, AnchorNumber<'_>); 2] = [
        (
            "recount_anchor_behind_checkpoints",
            "Checkpoints that an anchor has not taken.",
            &|it| it.behind as f64,
        ),
        (
            "recount_anchor_failing_seconds",
            "The time since which no attempt has succeeded; 0 if the last one did.",
            &|it| seconds(it.failing_since),
        ),
    ];
    for (name, help, value) in metrics {
        text.metric(name, Kind::Gauge, help);
        for anchor in &status.anchors {
            text.sample(name, &[("anchor", anchor.name.as_str())], value(anchor));
        }
    }
}
