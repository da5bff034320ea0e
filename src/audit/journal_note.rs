//! Records of the journal about itself: crashes, repairs, erasures, and record kinds of a later
//! version.

use recount_journal::{Journal, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::filter::Filter;
use super::moment;
use crate::ledger::{
    CALLS_PASSED, CLOCK_OBSERVED, ERASED, Error, PAUSED, PLACED, PassedCalls, Placed, RELEASED,
    REQUESTED, Released, UNPAUSED,
};
use crate::session::{Actor, PauseScope, Seq, SessionId, Timestamp};

/// The number of records read at a time.
const PAGE: usize = 1024;

/// A record of the journal about itself.
///
/// Openings, clean closings, observations of the clock and checkpoints are omitted.
///
/// ```json
/// {"seq":3,"at":"2026-11-20T14:03:07.112345Z","kind":"journal_repaired",
///  "what":"repaired: 2 records lost, 1 session hurt"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JournalNote {
    /// The seq of the record in the journal's own stream, whose id is nil.
    pub seq: Seq,
    /// The time of the record.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The kind of the record.
    pub kind: String,
    /// The content of the record, in words.
    pub what: String,
}

/// Returns the journal's records about itself in the selected time range.
pub(super) async fn notes(
    journal: &dyn Journal,
    filter: &Filter,
) -> Result<Vec<JournalNote>, Error> {
    let session = SessionId(Uuid::nil());
    let (mut notes, mut next) = (Vec::new(), Seq(1));
    loop {
        let lines = journal.read(session.0, next.0, PAGE).await?;
        if lines.is_empty() {
            return Ok(notes);
        }
        for line in &lines {
            let seq = next;
            let record = Record::parse(line.bytes()).map_err(|source| Error::Malformed {
                session,
                seq,
                source,
            })?;
            let at = Timestamp(record.at_us);
            let body = serde_json::from_str(record.body.get()).unwrap_or_default();
            if let Some(what) = told(record.kind, &body).filter(|_| filter.covers(at)) {
                let kind = record.kind.to_owned();
                notes.push(JournalNote {
                    seq,
                    at,
                    kind,
                    what,
                });
            }
            next = next.next();
        }
    }
}

fn told(kind: &str, body: &Value) -> Option<String> {
    let number = |name: &str| body.get(name).and_then(Value::as_u64).unwrap_or_default();
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    match kind {
        "journal_closed" | "checkpoint_signed" | CLOCK_OBSERVED => None,
        "journal_opened" => {
            let recovered = body.get("recovered")?;
            let read = |name: &str| recovered.get(name).and_then(Value::as_u64);
            let (records, cut) = (read("records").unwrap_or(0), read("cut_bytes").unwrap_or(0));
            let after = body.get("after").and_then(Value::as_str);
            (after == Some("crash")).then(|| {
                let cut = match cut {
                    0 => String::new(),
                    bytes => format!(", {bytes} unfinished bytes cut off"),
                };
                format!("opened after a crash: {records} records recovered{cut}")
            })
        }
        "journal_repaired" => Some(format!(
            "repaired: {} records lost, {} set aside, {} sessions hurt, {} objects lost",
            number("records_lost"),
            number("records_salvaged"),
            number("sessions_hurt"),
            number("objects_lost"),
        )),
        REQUESTED => {
            let by = body.get("by").and_then(|it| Actor::deserialize(it).ok());
            Some(format!(
                "{} wants session {} erased: {}",
                by.map_or("an unknown actor".to_owned(), |by| by.in_short()),
                text("session"),
                text("reason")
            ))
        }
        ERASED => {
            let how = match body.get("found").and_then(Value::as_bool) {
                Some(false) => {
                    "was gone already when it was to be erased: what it sealed opens no more"
                }
                Some(true) | None => "was erased, and with it all that it sealed",
            };
            Some(format!("the key of session {} {how}", text("session")))
        }
        PLACED => {
            let Placed { target, reason, by } = Placed::deserialize(body).ok()?;
            Some(format!("{} held {target}: {reason}", by.in_short()))
        }
        RELEASED => {
            let Released { hold, reason, by } = Released::deserialize(body).ok()?;
            Some(format!("{} released hold {hold}: {reason}", by.in_short()))
        }
        CALLS_PASSED => {
            let gap = PassedCalls::deserialize(body).ok()?;
            let (since, until) = (moment::spelled(gap.since), moment::spelled(gap.until));
            let calls = match gap.calls {
                1 => "1 call".to_owned(),
                calls => format!("{calls} calls"),
            };
            Some(format!(
                "{calls} passed a gateway unrecorded, from {since} to {until}"
            ))
        }
        PAUSED | UNPAUSED => {
            let by = body.get("by").and_then(|it| Actor::deserialize(it).ok())?;
            let scope = body
                .get("scope")
                .and_then(|it| PauseScope::deserialize(it).ok())?;
            let did = if kind == PAUSED {
                "paused"
            } else {
                "ended the pause of"
            };
            let reason = match text("reason") {
                "" => String::new(),
                reason => format!(": {reason}"),
            };
            Some(format!("{} {did} {scope}{reason}", by.in_short()))
        }
        _ => Some(format!("of a kind that this version does not know: {body}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clean_openings_and_closings_are_omitted() {
        let recovered = json!({"records": 7, "cut_bytes": 12});
        let opened = |after: &str| {
            told(
                "journal_opened",
                &json!({"after": after, "recovered": recovered}),
            )
        };
        assert_eq!(
            (
                opened("new"),
                opened("clean"),
                told("journal_closed", &json!({}))
            ),
            (None, None, None)
        );
        assert!(
            opened("crash").is_some_and(|it| it.contains("7 records recovered, 12 unfinished"))
        );
        let repaired = told(
            "journal_repaired",
            &json!({"records_lost": 2, "sessions_hurt": 1}),
        );
        assert!(
            repaired.is_some_and(|it| it.contains("2 records lost, 0 set aside, 1 sessions hurt"))
        );
        let by = json!({"name": "ada", "authenticated_by": "os_user"});
        let requested = json!({"session": "7", "by": by, "reason": "ticket 17"});
        assert_eq!(
            told("erasure_requested", &requested).as_deref(),
            Some("ada wants session 7 erased: ticket 17")
        );
        let by = json!({"name": "root (os_user)", "authenticated_by": "none"});
        let requested = json!({"session": "7", "by": by, "reason": "ticket 17"});
        assert_eq!(
            told("erasure_requested", &requested).as_deref(),
            Some(r#"unchecked "root (os_user)" wants session 7 erased: ticket 17"#)
        );
        let erased = told("session_erased", &json!({"session": "7", "requested": 3}));
        assert!(erased.is_some_and(|it| it.starts_with("the key of session 7 was erased")));
        let by = json!({"name": "ada", "authenticated_by": "os_user"});
        let scope = json!({"agent": "support"});
        let paused = json!({"scope": scope, "by": by, "reason": "wrong prices", "rules": 2});
        assert_eq!(
            told("paused", &paused).as_deref(),
            Some(r#"ada paused the agent "support": wrong prices"#)
        );
        let lifted = json!({"scope": "everything", "by": by, "rules": 2});
        assert_eq!(
            told("unpaused", &lifted).as_deref(),
            Some("ada ended the pause of everything")
        );
        let target = json!({"label": {"key": "matter", "value": "17"}});
        let held = json!({"target": target, "by": by, "reason": "letter of counsel"});
        assert_eq!(
            told("hold_placed", &held).as_deref(),
            Some("ada held sessions with the label matter=17: letter of counsel")
        );
        let released = json!({"hold": 7, "by": by, "reason": "settled"});
        assert_eq!(
            told("hold_released", &released).as_deref(),
            Some("ada released hold 7: settled")
        );
        let gap = json!({"calls": 3, "since_us": 0, "until_us": 1_000_000});
        let passed = told("calls_passed", &gap);
        assert!(
            passed
                .is_some_and(|it| it.starts_with("3 calls passed a gateway unrecorded, from 1970"))
        );
        let one = json!({"calls": 1, "since_us": 0, "until_us": 1_000_000});
        let passed = told("calls_passed", &one);
        assert!(passed.is_some_and(|it| it.starts_with("1 call passed a gateway")));
        let later = told("journal_moved", &json!({"session": "7"}));
        assert!(later.is_some_and(|it| it.ends_with(r#"{"session":"7"}"#)));
    }
}
