//! `approve` and `deny` of several requests. Each is answered on its own, and each outcome is
//! printed, also if some fail.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::AnswerArgs;
use super::members::members;
use super::on_record;
use super::operations::Outcome;
use crate::failures::{Exit, Failure};
use crate::files::given_json;
use crate::journal::{Source, ids};
use crate::telling::question;
use crate::terminal::{Screen, Tone, prompt};
use recount::control::{OnRecord, Waiting};
use recount::ledger::PendingConfirmation;
use recount::session::{AllowFor, Json, RequestId};
use recount_telling::{acted, bound_words, one_line, progress};

/// One answer to several requests.
pub(super) struct AnswerMany {
    pub(super) requests: Vec<RequestId>,
    pub(super) confirmed: bool,
    /// True if the approver is asked at the terminal first.
    pub(super) asks: bool,
    /// True if the answer has arguments, which belong to one call.
    pub(super) is_edited: bool,
    /// The bound of the standing leave that each approval also gives.
    pub(super) allow_for: Option<AllowFor>,
}

/// The open requests before the answer, by id.
type Asked = BTreeMap<RequestId, PendingConfirmation>;

impl AnswerMany {
    pub(super) async fn record(
        self,
        given: AnswerArgs,
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        if self.is_edited || given.request_hash.is_some() {
            let count = self.requests.len();
            let what = format!(
                "expected one request with --args or --request-hash, found {count} requests"
            );
            return Err(Failure::new("several-requests", what)
                .exit(Exit::Usage)
                .advice("answer that request alone; nothing was recorded"));
        }
        let payload = given.payload.as_deref();
        let payload = payload
            .map(|it| given_json("the payload", it))
            .transpose()?;
        if self.asks && !self.agreed(&given, screen).await? {
            screen.line("Nothing was recorded.")?;
            return Ok(Exit::Failed);
        }
        let mut answer = members!({ "confirmed": self.confirmed, });
        let reason = given.reason.as_ref();
        answer.extend(reason.map(|it| ("reason", Json::of_serialized(it))));
        answer.extend(payload.map(|it| ("payload", it)));
        let allow_for = self.allow_for.map(|it| Json::of_serialized(&it));
        answer.extend(allow_for.map(|it| ("allow_for", it)));
        let mut source = Source::writing(&given.path, &given.keys).await?;
        let asked = asked(&mut source).await;
        let service = source.service();
        let outcomes = source.answer_many(self.requests, &answer, given.name);
        let outcomes = outcomes.await;
        let closed = source.close().await;
        let shown = Shown {
            outcomes: outcomes?,
            asked,
            confirmed: self.confirmed,
            allow_for: self.allow_for,
            service,
            is_in_database: given.path.path().is_none(),
        };
        shown.print(given.json, closed, screen)
    }

    /// Shows each call to approve, and asks for one confirmation at the terminal. The journal is
    /// closed while the approver decides.
    async fn agreed(&self, given: &AnswerArgs, screen: &mut Screen) -> Result<bool, Failure> {
        let mut source = Source::writing(&given.path, &given.keys).await?;
        let asked = asked(&mut source).await;
        source.close().await?;
        let open: Vec<&PendingConfirmation> = self
            .requests
            .iter()
            .filter_map(|it| asked.get(it))
            .collect();
        if open.is_empty() {
            return Ok(true);
        }
        for request in &open {
            question::show_question(request, screen)?;
            screen.line("")?;
        }
        if let Some(bound) = self.allow_for {
            screen.line(&format!("… and later calls of each {}", bound_words(bound)))?;
        }
        screen.flush()?;
        prompt::yes_or_no(&format!("Approve these {} calls?", open.len())).await
    }
}

/// Denies every request that is open in the session now.
pub(super) async fn deny_all(
    given: AnswerArgs,
    session: &str,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut source = Source::writing(&given.path, &given.keys).await?;
    let service = source.service();
    let asked = asked(&mut source).await;
    let denied = match ids::session_at(&mut source, session).await {
        Ok(session) => source.deny_all(session, given.reason, given.name).await,
        Err(unknown) => Err(unknown),
    };
    let closed = source.close().await;
    let shown = Shown {
        outcomes: denied?,
        asked,
        confirmed: false,
        allow_for: None,
        service,
        is_in_database: given.path.path().is_none(),
    };
    if shown.outcomes.is_empty() && !given.json {
        closed?;
        screen.line("Nothing is pending in the session.")?;
        return Ok(Exit::Ok);
    }
    shown.print(given.json, closed, screen)
}

/// Returns the open requests. Empty if they cannot be read, because only their text is shown.
async fn asked(source: &mut Source) -> Asked {
    let waiting = source.pending().await.unwrap_or_default().into_iter();
    let confirmations = waiting.filter_map(|it| match it {
        Waiting::Confirmation(it) => Some((it.id, *it)),
        Waiting::Paused(_) => None,
    });
    confirmations.collect()
}

/// The outcomes, as the command prints them.
struct Shown {
    outcomes: Vec<Outcome>,
    asked: Asked,
    confirmed: bool,
    /// The bound of the standing leave that each approval also gave.
    allow_for: Option<AllowFor>,
    /// The process id of the service that recorded them, if one has the journal open.
    service: Option<u32>,
    /// True if they are recorded in a database.
    is_in_database: bool,
}

impl Shown {
    /// Prints a row for each request. A refusal or another failure decides the exit code.
    fn print(
        &self,
        json: bool,
        closed: Result<(), Failure>,
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let printed = self.print_rows(json, screen).and_then(|()| screen.flush());
        let mut recorded = self.outcomes.iter().filter_map(|(_, it)| it.as_ref().ok());
        if let Err(failure) = printed.and(closed) {
            return Err(match recorded.next() {
                Some(on_record) => failure.behind_record(on_record),
                None => failure,
            });
        }
        let exits = self.outcomes.iter();
        let exits = exits.filter_map(|(_, it)| it.as_ref().err().map(|it| it.exit));
        let exits: Vec<Exit> = exits.collect();
        if exits.contains(&Exit::Refused) {
            return Ok(Exit::Refused);
        }
        Ok(exits.first().copied().unwrap_or(Exit::Ok))
    }

    fn print_rows(&self, json: bool, screen: &mut Screen) -> Result<(), Failure> {
        for (request, outcome) in &self.outcomes {
            if json {
                screen.json(&self.row(*request, outcome))?;
                continue;
            }
            match outcome {
                Ok(on_record) => self.print_record(*request, on_record, screen)?,
                Err(Failure { code, what, .. }) => {
                    screen.toned(Tone::Bad, &format!("{request}: error[{code}]: {what}"))?;
                }
            }
        }
        if json || self.outcomes.iter().all(|(_, it)| it.is_err()) {
            return Ok(());
        }
        let decided = |it: &Outcome| it.1.as_ref().is_ok_and(|it| it.missing == 0);
        let decided = self.outcomes.iter().any(decided);
        if let Some(bound) = self.allow_for.filter(|_| decided) {
            screen.line(&format!(
                "Later calls of them are allowed {}; `recount revoke` ends that.",
                bound_words(bound)
            ))?;
        }
        let next = match (self.service, self.confirmed) {
            (Some(pid), _) => format!("Recorded by the running service (pid {pid})."),
            (None, true) if !decided => return Ok(()),
            (None, _) if self.is_in_database => on_record::IN_DATABASE.to_owned(),
            (None, true) => "The calls start when a process serves the session again.".to_owned(),
            (None, false) => {
                "The model is told when a process serves the session again.".to_owned()
            }
        };
        screen.line(&next)
    }

    fn print_record(
        &self,
        request: RequestId,
        on_record: &OnRecord,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let OnRecord {
            seq,
            tool,
            by,
            missing,
            ..
        } = on_record;
        let (what, tone) = match self.confirmed {
            true => ("approved", Tone::Good),
            false => ("denied", Tone::Bad),
        };
        let text = format!("{tool} {what} {}, recorded at seq {seq}", acted("by", by));
        screen.toned(tone, &one_line(&text))?;
        if let Some(args) = self.args(request) {
            screen.line(&format!("  {}", one_line(args.as_str())))?;
        }
        if *missing == 0 {
            return Ok(());
        }
        let asked = self.asked.get(&request);
        let needs = asked.and_then(|it| it.needs.as_deref());
        let progress = progress(needs, *missing);
        screen.line(&format!("  {}", one_line(&progress)))
    }

    fn args(&self, request: RequestId) -> Option<&Json> {
        let asked = self.asked.get(&request).filter(|it| !it.sealed);
        asked.map(|it| &it.args)
    }

    fn row(&self, request: RequestId, outcome: &Result<OnRecord, Failure>) -> Value {
        let recorded = outcome.as_ref().ok();
        json!({
            "request": request,
            "session": recorded.map(|it| it.session),
            "seq": recorded.map(|it| it.seq),
            "tool": recorded.map(|it| &it.tool),
            "confirmed": self.confirmed,
            "args": self.args(request),
            "by": recorded.map(|it| &it.by),
            "service": self.service,
            "allow_for": self.allow_for,
            "missing": recorded.map(|it| it.missing),
            "error": outcome.as_ref().err().map(|it| json!({"code": it.code, "text": it.what})),
        })
    }
}
