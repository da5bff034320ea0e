//! One call as a row of the HTML report.

use super::html::{put, text};
use super::timelines::anchor;
use recount::audit::{AuditedCall, Question, Verdict};
use recount::session::Timestamp;
use recount_telling::calls::{self as words, Mood, spoken, waited, word};
use recount_telling::{acted, acted_in_short, age, bound_words, count};

/// A row: the call, its arguments, the decision, the approval requests, the runs and the outcome.
pub(super) fn row(out: &mut String, call: &AuditedCall) {
    let anchor = anchor(call.session, call.seq);
    put(out, format_args!("<tr id=\"{anchor}\">"));
    about(out, call);
    arguments(out, call);
    policy(out, call);
    out.push_str("<td class=\"who\">");
    for question in &call.questions {
        asked(out, question, call);
    }
    if call.questions.is_empty() {
        out.push_str("<span class=\"quiet\">none</span>");
    }
    out.push_str("</td>");
    runs(out, call);
    ended(out, call);
    out.push_str("</tr>\n");
}

/// The reason why a call ran that no person had approved.
pub(super) fn allowed_by(call: &AuditedCall) -> String {
    match (call.verdict, &call.waived) {
        (Verdict::GateWaived, Some(waived)) => format!("approval not enforced: {}", waived.reason),
        (Verdict::AllowedUnanswered, Some(waived)) => waived.reason.clone(),
        (Verdict::AllowedByProgram, _) => {
            "the program: it decided that no approval is required".to_owned()
        }
        (Verdict::ApprovedAutomatically, _) => {
            let by = call.questions.iter().rev().find_map(|it| it.by.as_ref());
            by.map_or_else(String::new, |by| {
                acted_in_short("approved automatically by", by)
            })
        }
        (_, _) => match &call.policy {
            Some(policy) => words::rule(policy.rule).to_owned(),
            None => String::new(),
        },
    }
}

pub(super) fn time(at: Timestamp) -> String {
    let shown = age::moment(at);
    format!("<time datetime=\"{}\">{shown}</time>", age::stamp(at))
}

fn about(out: &mut String, call: &AuditedCall) {
    put(
        out,
        format_args!(
            "<th scope=\"row\">{}<br><code title=\"{}\">{} #{}</code>",
            time(call.called_at),
            call.hash,
            call.session,
            call.seq
        ),
    );
    let mut lines = vec![call.agent.clone()];
    lines.extend(call.external_id.clone());
    lines.extend(
        call.labels
            .iter()
            .map(|(key, value)| format!("{key}={value}")),
    );
    lines.extend(
        call.on_behalf_of
            .as_ref()
            .map(|it| format!("on behalf of {it}")),
    );
    lines.extend(call.called_by.as_ref().map(|it| acted("called by", it)));
    lines.extend(
        call.parent
            .map(|it| format!("called by the agent of #{it}")),
    );
    if call.sealed {
        lines.push("sealed on record".to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|it| text(it)).collect();
    put(
        out,
        format_args!(
            "<div class=\"small quiet\">{}</div></th>",
            lines.join("<br>")
        ),
    );
}

fn arguments(out: &mut String, call: &AuditedCall) {
    let tool = if call.tool.is_empty() {
        "(no name)"
    } else {
        &call.tool
    };
    put(
        out,
        format_args!("<td class=\"what\"><strong>{}</strong>", text(tool)),
    );
    if !call.args_text().is_empty() {
        code(out, call.args_text());
    }
    if let Some(edited) = &call.edited_args {
        out.push_str("<div class=\"small\">changed by an approver to</div>");
        code(out, edited.as_str());
    }
    if let Some(flaw) = &call.flaw {
        put(
            out,
            format_args!(
                "<div class=\"small\">invalid arguments: {}</div>",
                text(flaw)
            ),
        );
    }
    if !call.sealed_args.is_empty() {
        let sealed = text(&call.sealed_args.join(", "));
        put(
            out,
            format_args!("<div class=\"small quiet\">sealed: {sealed}</div>"),
        );
    }
    out.push_str("</td>");
}

fn code(out: &mut String, it: &str) {
    let it = text(it);
    put(out, format_args!("<code class=\"args\">{it}</code>"));
}

fn policy(out: &mut String, call: &AuditedCall) {
    let mood = match call.verdict {
        Verdict::Approved
        | Verdict::AllowedByLeave
        | Verdict::AllowedByRule
        | Verdict::AllowedByProgram => "good",
        Verdict::GateWaived
        | Verdict::AllowedUnanswered
        | Verdict::ApprovedAutomatically
        | Verdict::Waiting
        | Verdict::Undecided => "open",
        Verdict::Denied
        | Verdict::DeniedAutomatically
        | Verdict::Expired
        | Verdict::RefusedByPolicy
        | Verdict::RefusedByProgram => "bad",
        Verdict::Withdrawn | Verdict::AnsweredByProgram | Verdict::ResultReused => "plain",
    };
    let verdict = words::verdict_words(call.verdict);
    put(
        out,
        format_args!("<td><span class=\"tag {mood}\">{verdict}</span>"),
    );
    let mut lines = Vec::new();
    if let Some(policy) = &call.policy {
        let (said, rule) = (spoken(&word(&policy.verdict)), words::rule(policy.rule));
        lines.push(format!("policies: {said}, {rule}"));
        lines.extend(policy.reason.clone());
        lines.extend(
            policy
                .inputs
                .as_ref()
                .map(|it| format!("read {}", it.as_str())),
        );
    }
    lines.extend(call.waived.as_ref().map(|it| match it.unanswered {
        Some(_) => it.reason.clone(),
        None => format!("approval not enforced: {}", it.reason),
    }));
    lines.extend(call.leave.as_ref().map(|it| {
        let words = words::leave_words(it);
        format!("allowed {words}, given at #{}", it.given)
    }));
    for said in &call.program {
        let hook = said.hook.as_str();
        let by = said
            .by
            .as_ref()
            .map_or(String::new(), |it| format!(" {}", acted("by", it)));
        lines.push(match (&said.failure, said.answered, said.gated) {
            (Some(failure), _, _) => format!("hook {hook}: {failure}"),
            (None, true, _) => format!("hook {hook} answered instead of the tool{by}"),
            (None, false, Some(true)) => format!("hook {hook}: approval required"),
            (None, false, Some(false)) => format!("hook {hook}: no approval required"),
            (None, false, None) => format!("hook {hook} changed nothing"),
        });
    }
    lines.extend(call.held.iter().map(words::held));
    small(out, &lines);
    out.push_str("</td>");
}

fn asked(out: &mut String, it: &Question, call: &AuditedCall) {
    let mood = match it.end.as_str() {
        "approved" | "settled_as_done" => "good",
        "open" => "open",
        "denied" | "expired" | "allowed_unanswered" | "settled_as_failed" => "bad",
        _ => "plain",
    };
    let by = it
        .by
        .as_ref()
        .map_or(String::new(), |by| format!(" {}", acted("by", by)));
    let by = text(&by);
    put(
        out,
        format_args!(
            "<div><span class=\"tag {mood}\">{}</span>{by}</div>",
            words::question_end(it.end)
        ),
    );
    let mut lines = Vec::new();
    lines.push(words::asked(it).to_owned());
    lines.extend(words::asked_arguments(it, call));
    lines.extend(words::shown(it));
    lines.push(format!("requested {}", age::moment(it.asked_at)));
    if let (Some(at), Some(us)) = (it.ended_at, it.waited_us) {
        let how = if it.by.is_some() { "answered" } else { "ended" };
        lines.push(format!("{how} {}, after {}", age::moment(at), waited(us)));
    }
    if it.approvals_needed > 1 {
        lines.push(format!("{} approvals needed", it.approvals_needed));
    }
    lines.extend(it.approvals.iter().map(words::approved_before));
    lines.extend(it.reason.as_ref().map(|it| format!("reason: {it}")));
    lines.extend(
        it.allow_for
            .map(|it| format!("and later calls {}", bound_words(it))),
    );
    lines.extend(
        it.payload
            .as_ref()
            .map(|it| format!("payload for the tool: {}", it.as_str())),
    );
    lines.extend(
        it.superseded_by
            .map(|it| format!("replaced by request #{it}, because the tool had changed")),
    );
    for refused in &it.refused {
        let why = spoken(&refused.refusal);
        lines.push(format!(
            "answer {} refused {}: {why}",
            acted("from", &refused.by),
            age::moment(refused.at)
        ));
    }
    small(out, &lines);
}

fn runs(out: &mut String, call: &AuditedCall) {
    out.push_str("<td>");
    if call.runs.is_empty() {
        out.push_str("<span class=\"quiet\">did not run</span>");
    } else if call.ran_without_confirmation {
        out.push_str("<span class=\"tag open\">without a person’s approval</span>");
    }
    let mut lines = Vec::new();
    if call.runs.len() > 1 {
        lines.push(count(call.runs.len(), "run"));
    }
    for run in &call.runs {
        let by = run.claimed_by.as_ref();
        let by = by.map_or(String::new(), |it| {
            format!(" {}", acted("by the client", it))
        });
        lines.push(format!("started {}{by}", age::moment(run.started_at)));
        lines.push(match run.ended_at {
            Some(at) => format!(
                "ended {}, after {}",
                age::moment(at),
                waited(at.0.saturating_sub(run.started_at.0))
            ),
            None => "no end recorded".to_owned(),
        });
    }
    small(out, &lines);
    out.push_str("</td>");
}

fn ended(out: &mut String, call: &AuditedCall) {
    let mood = match words::mood(call) {
        Mood::Good => "good",
        Mood::Bad => "bad",
        Mood::Open => "open",
        Mood::Plain => "plain",
    };
    let outcome = match &call.ended {
        Some(end) => spoken(&word(&end.outcome)),
        None => spoken(call.waits_as.unwrap_or("open")),
    };
    put(
        out,
        format_args!("<td class=\"end\"><span class=\"tag {mood}\">{outcome}</span>"),
    );
    let mut lines = Vec::new();
    lines.extend(call.ended.as_ref().map(|it| age::moment(it.at)));
    lines.extend(call.error_kind.clone());
    lines.extend(call.reused.map(|it| format!("result of call #{it}")));
    lines.extend(call.supplied_by.as_ref().map(|it| acted("result from", it)));
    if let Some(it) = &call.cancelled {
        let by = it
            .by
            .as_ref()
            .map_or(String::new(), |by| acted("cancelled by", by));
        lines.push(
            [Some(by), it.reason.clone()]
                .into_iter()
                .flatten()
                .filter(|it| !it.is_empty())
                .collect::<Vec<_>>()
                .join(": "),
        );
    }
    if let Some(it) = &call.reconciled {
        let reason = it
            .reason
            .as_ref()
            .map_or(String::new(), |it| format!(": {it}"));
        lines.push(format!(
            "reconciled as {} {} {}{reason}",
            it.found.as_str(),
            acted("by", &it.by),
            age::moment(it.at)
        ));
    }
    small(out, &lines);
    out.push_str("</td>");
}

fn small(out: &mut String, lines: &[String]) {
    let lines: Vec<String> = lines
        .iter()
        .filter(|it| !it.is_empty())
        .map(|it| text(it))
        .collect();
    put(
        out,
        format_args!("<div class=\"small quiet\">{}</div>", lines.join("<br>")),
    );
}
