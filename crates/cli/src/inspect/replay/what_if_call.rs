//! One call with other policies: as lines and as JSON.

use serde_json::{Value, json};

use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::replay::what_if::{CallReport, Standing, Told, Unknown};
use recount::session::{Outcome, Rule, SessionId, Verdict};
use recount_telling::{age, cut, one_line};

/// The mark of a call before which the model had received something different.
pub(super) const OTHER_MESSAGES: &str = "*";

/// Shows the session, and the headings of the columns of its calls.
pub(super) fn show_heading(session: SessionId, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Heading, &format!("Session {session}"))?;
    let heads = row("call", " ", "tool", "recorded", "with the new policies");
    screen.toned(Tone::Quiet, &heads)
}

/// Shows a call, and the reason if it would change.
pub(super) fn show_call(call: &CallReport, screen: &mut Screen) -> Result<(), Failure> {
    let (recorded, under) = (words(&call.recorded), words(&call.under));
    let seq = call.call.to_string();
    let tool = one_line(&call.tool);
    let tone = match (call.is_changed(), call.unknown) {
        (false, _) => Tone::Plain,
        (true, None) => Tone::Bad,
        (true, Some(_)) => Tone::Ask,
    };
    let mark = if call.heard.is_some() {
        OTHER_MESSAGES
    } else {
        " "
    };
    screen.toned(tone, &row(&seq, mark, &tool, &recorded, &under))?;
    if call.is_changed() {
        let why = format!("        {}", why(call));
        screen.line(&cut(&one_line(&why), COLUMNS))?;
    }
    Ok(())
}

fn row(call: &str, mark: &str, tool: &str, recorded: &str, under: &str) -> String {
    let tool = cut(tool, 20);
    let row = format!("{call:>6}{mark} {tool:<20}  {recorded:<23}  {under}");
    cut(row.trim_end(), COLUMNS).into_owned()
}

/// The verdict and the outcome, such as `approval, denied`.
fn words(side: &Told) -> String {
    let standing = standing_words(side.standing);
    match side.verdict {
        None => standing.to_owned(),
        Some(Verdict::Refused) => "refused".to_owned(),
        Some(Verdict::Allowed) => format!("allowed, {standing}"),
        Some(Verdict::Ask) => format!("approval, {standing}"),
        Some(Verdict::AskProgram) => format!("program decides, {standing}"),
    }
}

/// Both sides of a call that would change, in different words.
pub(super) fn ends(call: &CallReport) -> (String, String) {
    let (recorded, under) = (words(&call.recorded), words(&call.under));
    if recorded != under {
        return (recorded, under);
    }
    let apart = |words: String, side: &Told| match side.rule {
        Some(rule) if call.recorded.rule != call.under.rule => {
            format!("{words}: {}", rule_words(rule))
        }
        Some(_) | None => format!("{words}, started {}", times(side.attempts)),
    };
    match call.unknown {
        Some(_) => (recorded, "unknown".to_owned()),
        None => (apart(recorded, &call.recorded), apart(under, &call.under)),
    }
}

/// The reason why the call would change, or why that is unknown.
fn why(call: &CallReport) -> String {
    if let Some(unknown) = call.unknown {
        return unknown_words(unknown);
    }
    let (under, recorded) = (&call.under, &call.recorded);
    if (under.verdict, under.rule) == (recorded.verdict, recorded.rule) {
        if under.standing == recorded.standing {
            let [under, recorded] = [under, recorded].map(|it| times(it.attempts));
            return format!("its tool would be started {under} instead of {recorded}");
        }
        return match under.standing {
            Standing::Ended(Outcome::TimedOut) => "it would time out".to_owned(),
            Standing::Ended(Outcome::Expired) => "no answer would come in time".to_owned(),
            standing => format!("it would be {}", standing_words(standing)),
        };
    }
    let rule = under.rule.map_or("", rule_words);
    under.reason.clone().unwrap_or_else(|| rule.to_owned())
}

/// The number of starts of a tool, in words.
fn times(attempts: Option<u32>) -> String {
    match attempts {
        None => "an unknown number of times".to_owned(),
        Some(0) => "never".to_owned(),
        Some(1) => "once".to_owned(),
        Some(times) => format!("{times} times"),
    }
}

/// The word for a verdict in the totals of JSON.
pub(super) fn verdict_word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        None => "unknown",
        Some(Verdict::Allowed) => "allowed",
        Some(Verdict::Ask) => "asked",
        Some(Verdict::AskProgram) => "program asked",
        Some(Verdict::Refused) => "refused",
    }
}

fn standing_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Received => "received",
        Standing::Asked => "waiting",
        Standing::Ready => "ready",
        Standing::Started => "started",
        Standing::Unknown => "unknown",
        Standing::Ended(outcome) => match outcome {
            Outcome::Interim => "open",
            Outcome::Returned => "returned",
            Outcome::Failed => "failed",
            Outcome::Supplied => "supplied",
            Outcome::Refused => "refused",
            Outcome::Denied => "denied",
            Outcome::Expired => "expired",
            Outcome::TimedOut => "timed out",
            Outcome::Cancelled => "cancelled",
            Outcome::Unknown => "outcome unknown",
            Outcome::Withdrawn => "withdrawn",
        },
    }
}

fn rule_words(rule: Rule) -> &'static str {
    match rule {
        Rule::MissingName => "the call names no tool",
        Rule::UnknownTool => "no tool has that name",
        Rule::MalformedArgs => "the arguments are malformed",
        Rule::InvalidArgs => "the arguments do not fit the schema",
        Rule::Phase => "the tool is not available in this phase",
        Rule::Condition => "its condition is false",
        Rule::Cached => "the result of an equal call is reused",
        Rule::Pending => "an equal call is open",
        Rule::Limit => "a limit is reached",
        Rule::Confirm => "approval required",
        Rule::Default => "no policy asked",
    }
}

pub(super) fn call_json(session: SessionId, call: &CallReport) -> Value {
    json!({
        "session": session,
        "call": call.call,
        "at": age::stamp(call.at),
        "tool": call.tool,
        "recorded": side_json(&call.recorded),
        "policy": side_json(&call.under),
        "changed": call.is_changed(),
        "unknown": call.unknown.map(unknown_json),
        "heard": call.heard,
    })
}

/// The reason why the outcome is unknown. JSON has the words of the library.
fn unknown_words(unknown: Unknown) -> String {
    let words = match unknown {
        Unknown::DependsOn(call) => return format!("depends on the outcome of call #{call}"),
        Unknown::NobodyAsked => "approval would be required, and there is no answer on record",
        Unknown::ApprovalsMissing(missing) => {
            return format!("the answers on record do not suffice; approvals missing: {missing}");
        }
        Unknown::AskedLonger => "an approver would have longer to answer",
        Unknown::NoRun => "the tool would run, and there is no such run on record",
        Unknown::RunsOn => "the tool would have longer to run",
        Unknown::ProgramNotAsked => "the program would decide, and its answer is not on record",
        Unknown::ApprovedTooFast => "the approval would be refused as one too many in a minute",
        Unknown::WithoutAnswer => "the tool ran with an approver's payload that it would not get",
        Unknown::Elsewhere => "the call would be in a state that is not on record",
    };
    words.to_owned()
}

fn side_json(side: &Told) -> Value {
    let standing = match side.standing {
        Standing::Ended(outcome) => json!(outcome),
        Standing::Asked => json!("asked"),
        Standing::Received | Standing::Ready | Standing::Started => {
            json!(standing_words(side.standing))
        }
        // `unknown` is also a recorded outcome: the tool was interrupted.
        Standing::Unknown => Value::Null,
    };
    json!({
        "verdict": side.verdict,
        "rule": side.rule,
        "reason": side.reason,
        "standing": standing,
        "attempts": side.attempts,
    })
}

fn unknown_json(unknown: Unknown) -> Value {
    let (code, call) = match unknown {
        Unknown::DependsOn(call) => ("depends_on", Some(call)),
        Unknown::NobodyAsked => ("nobody_asked", None),
        Unknown::ApprovalsMissing(_) => ("approvals_missing", None),
        Unknown::AskedLonger => ("asked_longer", None),
        Unknown::NoRun => ("no_run", None),
        Unknown::RunsOn => ("runs_on", None),
        Unknown::ProgramNotAsked => ("program_not_asked", None),
        Unknown::ApprovedTooFast => ("approved_too_fast", None),
        Unknown::WithoutAnswer => ("without_answer", None),
        Unknown::Elsewhere => ("elsewhere", None),
    };
    json!({"why": code, "call": call, "words": unknown.to_string()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use recount::session::{Seq, Timestamp};

    fn side(rule: Rule, outcome: Outcome) -> Told {
        Told {
            verdict: Some(Verdict::Allowed),
            rule: Some(rule),
            reason: None,
            standing: Standing::Ended(outcome),
            attempts: Some(1),
        }
    }

    #[test]
    fn changed_calls_are_counted_by_their_change() {
        let recorded = side(Rule::Default, Outcome::Returned);
        let call = |under: Told, unknown| CallReport {
            call: Seq(5),
            at: Timestamp(0),
            tool: "look".to_owned(),
            recorded: recorded.clone(),
            under,
            unknown,
            heard: None,
        };
        let said = |call: &CallReport| {
            let (recorded, under) = ends(call);
            format!("{recorded} -> {under}")
        };
        let late = call(side(Rule::Default, Outcome::TimedOut), None);
        assert_eq!(said(&late), "allowed, returned -> allowed, timed out");
        let cached = call(side(Rule::Cached, Outcome::Returned), None);
        assert_eq!(
            said(&cached),
            "allowed, returned: no policy asked -> \
             allowed, returned: the result of an equal call is reused"
        );
        let once_more = call(
            Told {
                attempts: Some(2),
                ..recorded.clone()
            },
            None,
        );
        assert_eq!(
            said(&once_more),
            "allowed, returned, started once -> allowed, returned, started 2 times"
        );
        assert_eq!(
            why(&once_more),
            "its tool would be started 2 times instead of once"
        );
        let unknown = call(recorded.clone(), Some(Unknown::RunsOn));
        assert_eq!(said(&unknown), "allowed, returned -> unknown");
    }
}
