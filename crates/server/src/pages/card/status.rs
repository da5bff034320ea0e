//! The state of a call in words: what waits, who decided, and how it ended.

use maud::{Markup, html};
use recount::audit::{Question, QuestionEnd};
use recount::ledger::PendingConfirmation;
use recount::session::{About, OnExpiry, Outcome};
use recount_telling::{
    acted, acted_in_short, asked, bound_words, calls, count, progress, still_needed,
};

use super::arguments::json_table;
use super::loaded::Loaded;
use crate::pages::frame::{Frame, moment, relative, said, said_in_lines};

/// The state of the call.
pub(super) fn shown(frame: &Frame, it: &Loaded) -> Markup {
    let is_asked = it.asked.is_some();
    html! {
        @if let Some(open) = it.open() {
            h2.ask { (said_in_lines(asked(open))) }
            p {
                @match open.about {
                    About::Gate => @match open.on_expiry {
                        OnExpiry::Deny => "The call runs only if a person says yes.",
                        OnExpiry::Allow => "The call waits for a person, but not for ever.",
                    },
                    About::Tool => "The tool asks, and continues with the answer.",
                    About::InDoubt => {
                        "The call was cut off: it may have run, or not. Both answers are below."
                    },
                }
            }
            (yeses(it, open))
            (held_by_pauses(it))
            p.quiet {
                "Asked " (relative(open.requested_at, it.now))
                @if let Some(at) = open.expires_at {
                    @match open.on_expiry {
                        OnExpiry::Deny => ". Without an answer it counts as denied ",
                        OnExpiry::Allow => ". Without an answer the call runs ",
                    }
                    span.ask { (relative(at, it.now)) } "."
                }
            }
            @if open.model_lost_interest {
                p.bad { "The model has cancelled the call since." }
            }
        } @else if is_asked {
            h2 { "Expired" }
            p { "No answer came in time. An answer no longer counts." }
        } @else {
            (ended(it))
        }
        @for question in &it.call.questions {
            @if question.end != QuestionEnd::Open { (decided(question, it)) }
        }
        p.quiet {
            a href=(frame.links().to("inbox")) { "Back to the inbox" }
            " · "
            a href=(frame.links().to(&format!("inbox?session={}", it.session))) {
                "What else waits in this session"
            }
            " · "
            a href=(frame.links().session(it.session)) { "The session" }
            " · "
            a href=(frame.links().record(it.session, it.call.seq)) { "The record of the call" }
        }
    }
}

/// The yeses so far, and those that are still needed.
fn yeses(it: &Loaded, open: &PendingConfirmation) -> Markup {
    let Some(needs) = open.needs.as_deref().filter(|_| !open.approvals.is_empty()) else {
        return Markup::default();
    };
    html! {
        div.banner.good {
            @for (at, yes) in open.approvals.iter().enumerate() {
                p {
                    strong {
                        @if it.own_yes == Some(at) { "You approved" }
                        @else { (said(acted_in_short("", &yes.by).trim_start())) " approved" }
                    }
                    " " (relative(yes.at, it.now)) "."
                }
            }
            p { "Still needed: " (said(&still_needed(needs, open.missing()))) "." }
        }
    }
}

/// The pauses that hold the call, with what a yes does meanwhile.
fn held_by_pauses(it: &Loaded) -> Markup {
    let is_asked = it.open().is_some();
    html! {
        @if !it.pauses.is_empty() {
            div.banner.ask {
                @for listed in &it.pauses {
                    p {
                        strong { "Paused" } " (" (said(&listed.pause.scope.to_string())) ") "
                        (said(&acted_in_short("by", &listed.pause.by))) ", "
                        (relative(listed.pause.since, it.now))
                        @if let Some(reason) = &listed.pause.reason { ": " q { (said(reason)) } }
                    }
                }
                p {
                    @if is_asked { "After a yes the call waits until the pause ends." }
                    @else { "The call waits until the pause ends." }
                }
            }
        }
    }
}

/// A call that has not ended: where it is now.
fn under_way(it: &Loaded) -> Markup {
    let (is_running, runs) = (it.is_running(), &it.call.runs);
    let is_approved = it.call.questions.iter();
    let is_approved = is_approved
        .last()
        .is_some_and(|it| it.end == QuestionEnd::Approved);
    html! {
        @if it.is_paused() {
            h2 { "Waits for its result from outside" }
        } @else if is_running {
            h2 { "Running" }
            @if let Some(run) = runs.last() {
                p.quiet { "Started " (relative(run.started_at, it.now)) ", attempt " (run.attempt) }
            }
        } @else if !it.pauses.is_empty() {
            h2.ask {
                @if is_approved { "Approved, held by a pause" } @else { "Held by a pause" }
            }
        } @else {
            h2 { "Not ended" }
            p { "State: " (said(&calls::outcome_or_state(&it.call))) }
        }
        @if is_running || it.is_paused() || it.pauses.is_empty() {
            @for held in &it.call.held { p.ask { (said(&calls::held(held))) } }
        } @else { (held_by_pauses(it)) }
    }
}

/// The end of a call, or its state.
fn ended(it: &Loaded) -> Markup {
    let Some(end) = &it.call.ended else {
        return under_way(it);
    };
    let (tone, words) = outcome_words(it, end.outcome);
    html! {
        h2 class=(tone) { (words) }
        p.quiet {
            "Ended " (relative(end.at, it.now)) ", " (moment(end.at))
            @if let Some(run) = it.call.runs.last() { ", attempt " (run.attempt) }
            ", record " (end.seq)
        }
        @if let Some(result) = &it.result { (json_table(result, &[])) }
        @if let Some(cancelled) = &it.call.cancelled {
            p {
                "Cancelled"
                @if let Some(by) = &cancelled.by { " " (said(&acted("by", by))) }
                @if let Some(reason) = &cancelled.reason { ": " (said(reason)) }
            }
        }
        @if let Some(found) = &it.call.reconciled {
            p {
                "Found " strong { (found.found.as_str()) } " "
                (said(&acted("by", &found.by))) ", " (moment(found.at))
                @if let Some(reason) = &found.reason { ": " (said(reason)) }
            }
        }
    }
}

/// The outcome of a call, and the class of its colour.
fn outcome_words(it: &Loaded, outcome: Outcome) -> (&'static str, String) {
    let receipt = it.result.as_ref().and_then(|it| short(it.as_str()));
    let with_receipt = |words: &str| match &receipt {
        Some(receipt) => format!("{words}, {receipt}"),
        None => words.to_owned(),
    };
    match outcome {
        Outcome::Returned => ("good", with_receipt("Ran")),
        Outcome::Supplied => ("good", "The result came from outside".to_owned()),
        Outcome::Failed => ("bad", "Ran and failed".to_owned()),
        Outcome::TimedOut => ("bad", "Timed out".to_owned()),
        Outcome::Unknown if it.call.is_unknown() => {
            let words = "In doubt: it may have run, or not";
            ("bad", words.to_owned())
        }
        Outcome::Unknown => ("quiet", "It was in doubt, and was settled".to_owned()),
        Outcome::Denied => ("quiet", "Denied: it did not run".to_owned()),
        Outcome::Expired => ("quiet", "Expired: it did not run".to_owned()),
        Outcome::Refused => ("quiet", "Refused: it did not run".to_owned()),
        Outcome::Cancelled => ("quiet", "Cancelled".to_owned()),
        Outcome::Withdrawn => ("quiet", "Withdrawn: it did not run".to_owned()),
        Outcome::Interim => ("", "Not ended".to_owned()),
    }
}

/// The only member of a result, such as `receipt 17`. `None` if the result is larger.
fn short(result: &str) -> Option<String> {
    const CHARS_MAX: usize = 60;
    let members = recount_text::json::members(result).ok()?;
    let [(name, value)] = members.as_slice() else {
        return None;
    };
    let value = value.get();
    let value = serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned());
    let text = format!("{name} {value}");
    let is_short = text.chars().count() <= CHARS_MAX && !value.starts_with(['{', '[']);
    is_short.then(|| recount_telling::one_line(&text).into_owned())
}

/// The decision of a request: its people, its time and its reason.
fn decided(question: &Question, it: &Loaded) -> Markup {
    let end = calls::question_end(question.end);
    let tone = match question.end {
        QuestionEnd::Approved | QuestionEnd::SettledAsDone => "good",
        QuestionEnd::Denied
        | QuestionEnd::SettledAsFailed
        | QuestionEnd::Expired
        | QuestionEnd::AllowedUnanswered => "bad",
        QuestionEnd::Withdrawn | QuestionEnd::Superseded | QuestionEnd::Open => "quiet",
    };
    html! {
        p.decided {
            span.badge.(tone) { (end) }
            (said(&calls::answered_by(question)))
            @if let Some(at) = question.ended_at { ", " (relative(at, it.now)) }
            @if let Some(reason) = &question.reason { ": " q { (said(reason)) } }
        }
        @if question.edited_args.is_some() {
            p.quiet { "The approver changed the arguments." }
        }
        @if let Some(bound) = question.allow_for {
            p.quiet {
                "The answer also allows later calls of this tool "
                (said(&bound_words(bound)))
                @match (it.leave(), it.revoked_by()) {
                    (Some((_, 0)), _) => ", not used yet",
                    (Some((_, used)), _) => { ", used by " (count(used, "call")) " so far" },
                    (None, Some(by)) => { ", revoked " (said(&acted("by", by))) },
                    (None, None) => {},
                }
                "."
            }
        }
    }
}

/// The approvals of an open request, and who may still give one.
pub(super) fn approvals(it: &Loaded) -> Markup {
    let Some(open) = it.open() else {
        return Markup::default();
    };
    let Some(needs) = open.needs.as_deref() else {
        return Markup::default();
    };
    html! {
        @for given in &open.approvals {
            p {
                span.badge.good { "approved" } " " (said(&acted("by", &given.by))) ", "
                (relative(given.at, it.now))
                @if let Some(reason) = &given.reason { ": " q { (said(reason)) } }
            }
            @if let Some(args) = &given.args {
                p.quiet { "with changed arguments, which each yes must have:" }
                (json_table(args, it.sealed()))
            }
        }
        p { (said(&progress(Some(needs), open.missing()))) }
    }
}
