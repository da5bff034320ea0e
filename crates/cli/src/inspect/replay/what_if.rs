//! `recount replay --policy FILE`: what would have come of the calls of a journal under other policies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::unread::Unread;
use crate::development::policy;
use crate::failures::failure::{Exit, Failure, SEALED_ADVICE};
use crate::journal::ids;
use crate::terminal::progress::Meter;
use crate::terminal::screen::{COLUMNS, Screen};
use crate::terminal::style::Tone;
use crate::text::age;
use crate::text::count::count;
use crate::text::one_line::{cut, one_line};
use recount::ledger::{Error, Ledger};
use recount::replay::what_if::{CallReport, Standing, Told, Unknown, what_if};
use recount::session::{Outcome, Rule, SessionId, Verdict};

/// How many sessions are read at a time.
const PAGE: usize = 1024;

/// Decides the sessions again under the policies in `file`.
pub(crate) async fn run(
    ledger: &Ledger,
    session: Option<&str>,
    file: &Path,
    as_json: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let changes = policy::read(file)?;
    let only = match session {
        Some(text) => Some(ids::session(ledger, text).await?),
        None => None,
    };
    let sessions = sessions(ledger, only).await?;
    let total: u64 = sessions.iter().map(|(_, records)| records).sum();
    let meter = Meter::new("Deciding again");
    let (mut done, mut totals, mut sealed) = (0, Totals::default(), Vec::new());
    let mut unread = Unread::of(sessions.len());
    let mut tools = BTreeSet::new();
    for (session, records) in sessions {
        let before = done;
        let progress = |read| {
            done += read;
            meter.show(done, total);
        };
        let report = match what_if(ledger, session, &changes, progress).await {
            // What cannot be read is said not to have been, and the others are told.
            Err(Error::Sealed { session }) => {
                done = before + records;
                sealed.push(session);
                if as_json {
                    screen.json(&json!({"session": session, "sealed": true}))?;
                }
                continue;
            }
            Err(error) if only.is_none() => {
                done = before + records;
                unread.tell(session, error.into(), as_json, screen)?;
                continue;
            }
            report => report?,
        };
        tools.extend(report.tools);
        if !as_json && !report.calls.is_empty() {
            screen.toned(Tone::Heading, &format!("Session {session}"))?;
            screen.toned(
                Tone::Quiet,
                &row("call", " ", "tool", "recorded", "under the policies"),
            )?;
        }
        for call in &report.calls {
            totals.count(call);
            if as_json {
                screen.json(&call_json(session, call))?;
            } else {
                show(call, screen)?;
            }
        }
    }
    drop(meter);
    // A name that nobody has is most likely a mistake, and no error: the next session may have it.
    let strangers: Vec<&String> = changes
        .tools
        .keys()
        .filter(|it| !tools.contains(*it))
        .collect();
    if as_json {
        screen.json(&totals.as_json(&strangers))?;
    } else {
        totals.show(screen)?;
        for tool in strangers {
            let note = format!("note: no session has a tool {tool:?}, of which the policies speak");
            screen.toned(Tone::Quiet, &one_line(&note))?;
        }
    }
    unread.end("decided again")?;
    match sealed.first() {
        None => Ok(Exit::Ok),
        Some(first) => {
            let what = format!(
                "{} not decided again: sealed, and the key is not here; the first is {first}",
                count(sealed.len(), "session")
            );
            Err(Failure::new("sealed", what)
                .exit(Exit::Sealed)
                .advice(SEALED_ADVICE))
        }
    }
}

/// The sessions, and how many records each has.
async fn sessions(
    ledger: &Ledger,
    only: Option<SessionId>,
) -> Result<Vec<(SessionId, u64)>, Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.journal().sessions(after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(all);
        };
        after = Some(*last);
        let named = page.into_iter().map(|(id, head)| (SessionId(id), head.seq));
        all.extend(named.filter(|(id, _)| only.is_none_or(|only| only == *id)));
    }
}

fn show(call: &CallReport, screen: &mut Screen) -> Result<(), Failure> {
    let (recorded, under) = (words(&call.recorded), words(&call.under));
    let seq = call.call.to_string();
    let tool = one_line(&call.tool);
    let tone = match (call.is_changed(), call.unknown) {
        (false, _) => Tone::Plain,
        (true, None) => Tone::Bad,
        (true, Some(_)) => Tone::Ask,
    };
    let mark = if call.heard.is_some() { HEARD } else { " " };
    screen.toned(tone, &row(&seq, mark, &tool, &recorded, &under))?;
    if call.is_changed() {
        let why = format!("        {}", why(call));
        screen.line(&cut(&one_line(&why), COLUMNS))?;
    }
    Ok(())
}

/// Marks a call before which the model had heard what it would not have heard.
const HEARD: &str = "*";

fn row(call: &str, mark: &str, tool: &str, recorded: &str, under: &str) -> String {
    let tool = cut(tool, 20);
    let row = format!("{call:>6}{mark} {tool:<20}  {recorded:<23}  {under}");
    cut(row.trim_end(), COLUMNS).into_owned()
}

/// The verdict and where it led, such as `asked, denied`.
fn words(told: &Told) -> String {
    let standing = standing_words(told.standing);
    match told.verdict {
        None => standing.to_owned(),
        Some(Verdict::Refused) => "refused".to_owned(),
        Some(verdict) => format!("{}, {standing}", verdict_word(Some(verdict))),
    }
}

/// Both sides of a call that would have gone otherwise, in words that are not the same.
fn ends(call: &CallReport) -> (String, String) {
    let (recorded, under) = (words(&call.recorded), words(&call.under));
    if recorded != under {
        return (recorded, under);
    }
    let apart = |words: String, told: &Told| match told.rule {
        Some(rule) if call.recorded.rule != call.under.rule => {
            format!("{words}, since {}", rule_words(rule))
        }
        Some(_) | None => format!("{words}, run {}", times(told.attempts)),
    };
    match call.unknown {
        Some(_) => (recorded, "nobody can tell".to_owned()),
        None => (apart(recorded, &call.recorded), apart(under, &call.under)),
    }
}

/// Why it would have gone otherwise, or why nobody can tell.
fn why(call: &CallReport) -> String {
    if let Some(unknown) = call.unknown {
        return unknown.to_string();
    }
    let (under, recorded) = (&call.under, &call.recorded);
    if (under.verdict, under.rule) == (recorded.verdict, recorded.rule) {
        if under.standing == recorded.standing {
            let [under, recorded] = [under, recorded].map(|it| times(it.attempts));
            return format!("its tool would have run {under} instead of {recorded}");
        }
        return match under.standing {
            Standing::Ended(Outcome::TimedOut) => "its time would have been up".to_owned(),
            Standing::Ended(Outcome::Expired) => "the answer would have come too late".to_owned(),
            standing => format!("it would be {}", standing_words(standing)),
        };
    }
    let rule = under.rule.map_or("", rule_words);
    under.reason.clone().unwrap_or_else(|| rule.to_owned())
}

/// How often a tool was started.
fn times(attempts: Option<u32>) -> String {
    match attempts {
        None => "nobody knows how often".to_owned(),
        Some(0) => "never".to_owned(),
        Some(1) => "once".to_owned(),
        Some(times) => format!("{times} times"),
    }
}

fn verdict_word(verdict: Option<Verdict>) -> &'static str {
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
            Outcome::Interim => "goes on",
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
        Rule::Phase => "the tool is not there in this phase",
        Rule::Condition => "its condition does not hold",
        Rule::Cached => "the result of an equal call is used",
        Rule::Pending => "an equal call has not ended",
        Rule::Limit => "a limit is reached",
        Rule::Confirm => "its gate holds",
        Rule::Default => "nothing speaks against it",
    }
}

fn call_json(session: SessionId, call: &CallReport) -> Value {
    json!({
        "session": session,
        "call": call.call,
        "at": age::stamp(call.at),
        "tool": call.tool,
        "recorded": told_json(&call.recorded),
        "policy": told_json(&call.under),
        "changed": call.is_changed(),
        "unknown": call.unknown.map(unknown_json),
        "heard": call.heard,
    })
}

fn told_json(told: &Told) -> Value {
    let standing = match told.standing {
        Standing::Ended(outcome) => json!(outcome),
        Standing::Asked => json!("asked"),
        Standing::Received | Standing::Ready | Standing::Started => {
            json!(standing_words(told.standing))
        }
        // `unknown` is an outcome on record: the tool was cut off.
        Standing::Unknown => Value::Null,
    };
    json!({
        "verdict": told.verdict,
        "rule": told.rule,
        "reason": told.reason,
        "standing": standing,
        "attempts": told.attempts,
    })
}

fn unknown_json(unknown: Unknown) -> Value {
    let (code, call) = match unknown {
        Unknown::DependsOn(call) => ("depends_on", Some(call)),
        Unknown::NobodyAsked => ("nobody_asked", None),
        Unknown::AskedLonger => ("asked_longer", None),
        Unknown::NoRun => ("no_run", None),
        Unknown::RunsOn => ("runs_on", None),
        Unknown::ProgramNotAsked => ("program_not_asked", None),
        Unknown::WithoutAnswer => ("without_answer", None),
        Unknown::Elsewhere => ("elsewhere", None),
    };
    json!({"why": code, "call": call, "words": unknown.to_string()})
}

/// How many calls there are, and what would have become of them.
#[derive(Default)]
struct Totals {
    calls: u64,
    changed: u64,
    unknown: u64,
    heard: u64,
    /// Of the calls that would have gone otherwise, by the verdict on record and the other one.
    verdicts: BTreeMap<(&'static str, &'static str), u64>,
    /// The same ones, by verdict and end, and by rule where these are alike.
    ends: BTreeMap<(String, String), u64>,
}

impl Totals {
    fn count(&mut self, call: &CallReport) {
        self.calls += 1;
        self.heard += u64::from(call.heard.is_some());
        self.unknown += u64::from(call.unknown.is_some());
        if call.is_changed() {
            self.changed += 1;
            let pair = (
                verdict_word(call.recorded.verdict),
                verdict_word(call.under.verdict),
            );
            *self.verdicts.entry(pair).or_default() += 1;
            *self.ends.entry(ends(call)).or_default() += 1;
        }
    }

    fn show(&self, screen: &mut Screen) -> Result<(), Failure> {
        let calls = count(self.calls, "call");
        if self.changed == 0 {
            let text = format!("Nothing would have gone otherwise: {calls}");
            screen.toned(Tone::Good, &text)?;
        } else {
            let unknown = match self.unknown {
                0 => String::new(),
                unknown => format!(", of {unknown} nobody can tell how"),
            };
            let text = format!(
                "{} of {calls} would have gone otherwise{unknown}",
                self.changed
            );
            screen.toned(Tone::Heading, &text)?;
        }
        for ((recorded, under), calls) in &self.ends {
            screen.line(&format!("  {calls:>6}  {recorded} -> {under}"))?;
        }
        if self.heard > 0 {
            let calls = count(self.heard, "call");
            let were = if self.heard == 1 { "was" } else { "were" };
            let heard = format!(
                "{HEARD} {calls} {were} made after the model had heard what it would not have heard;"
            );
            screen.toned(Tone::Quiet, &heard)?;
            screen.toned(Tone::Quiet, "  decided as if it had made them all the same")?;
        }
        Ok(())
    }

    fn as_json(&self, strangers: &[&String]) -> Value {
        let verdicts = self.verdicts.iter().map(
            |((recorded, policy), calls)| json!({"recorded": recorded, "policy": policy, "calls": calls}),
        );
        json!({
            "totals": {
                "calls": self.calls,
                "changed": self.changed,
                "unknown": self.unknown,
                "heard": self.heard,
                "verdicts": verdicts.collect::<Vec<_>>(),
            },
            "unknown_tools": strangers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recount::session::{Seq, Timestamp};

    fn told(rule: Rule, outcome: Outcome) -> Told {
        Told {
            verdict: Some(Verdict::Allowed),
            rule: Some(rule),
            reason: None,
            standing: Standing::Ended(outcome),
            attempts: Some(1),
        }
    }

    #[test]
    fn what_went_otherwise_is_counted_by_what_was_otherwise() {
        let recorded = told(Rule::Default, Outcome::Returned);
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
        let late = call(told(Rule::Default, Outcome::TimedOut), None);
        assert_eq!(said(&late), "allowed, returned -> allowed, timed out");
        let cached = call(told(Rule::Cached, Outcome::Returned), None);
        assert_eq!(
            said(&cached),
            "allowed, returned, since nothing speaks against it -> allowed, returned, since the result of an equal call is used"
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
            "allowed, returned, run once -> allowed, returned, run 2 times"
        );
        assert_eq!(
            why(&once_more),
            "its tool would have run 2 times instead of once"
        );
        let unknown = call(recorded.clone(), Some(Unknown::RunsOn));
        assert_eq!(said(&unknown), "allowed, returned -> nobody can tell");
    }
}
