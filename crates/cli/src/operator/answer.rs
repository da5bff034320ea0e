//! `recount approve` and `recount deny`: they record an answer, and start no tool themselves.

use clap::Args;
use serde_json::json;

use super::answer_many;
use super::members::members;
use super::named;
use super::on_record::{self, Recorded};
use crate::failures::{Exit, Failure};
use crate::files::given_json;
use crate::journal::{Keys, Location, Source, ids};
use crate::telling::question;
use crate::terminal::{Screen, Tone, prompt};
use recount::control::OnRecord;
use recount::engine::{Clock, SystemClock};
use recount::ledger::PendingConfirmation;
use recount::session::{About, AllowFor, Json, Needs, ObjectHash, RequestId};
use recount_telling::{acted, bound_words, end_of_leave, one_line, progress};

/// Records an approval, through the service if one has the journal open.
#[derive(Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    answer: AnswerArgs,
    /// The ids of the requests, or unique beginnings of them; or the id of a session, and the seq
    /// of the request's record.
    #[arg(value_name = "REQUEST", required = true)]
    requests: Vec<String>,
    /// The arguments to run with in place of the model's, if the tool allows that: a JSON object;
    /// @FILE reads it from a file, - from standard input.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Also allows this number of later calls of the tool in the session, if the tool permits it.
    #[arg(long, value_name = "N", conflicts_with_all = ["allow_until", "args"])]
    allow_for: Option<u32>,
    /// Also allows later calls of the tool in the session until then, if the tool permits it: a
    /// time such as 2026-11-01T09:30:00Z, or a span such as 90m, 8h or 2d.
    #[arg(long, value_name = "TIME", conflicts_with = "args")]
    allow_until: Option<String>,
    /// Does not ask for a confirmation at a terminal.
    #[arg(long)]
    yes: bool,
}

impl Approve {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let allow_for = self.bound()?;
        let Approve {
            answer,
            requests,
            args,
            yes,
            ..
        } = self;
        if args.as_deref() == Some("-") && answer.payload.as_deref() == Some("-") {
            let what = "expected one of --args and --payload from standard input, found both";
            return Err(Failure::new("not-json", what).exit(Exit::Usage));
        }
        let args = args.map(|args| given_json("the arguments", &args));
        let asks = !yes && prompt::is_interactive();
        let args = args.transpose()?;
        let terms = (args, allow_for);
        answer.record(requests, true, asks, terms, screen).await
    }

    /// The bound of the standing leave that the approval also gives.
    fn bound(&self) -> Result<Option<AllowFor>, Failure> {
        let count = self.allow_for.map(AllowFor::Count);
        let Some(text) = &self.allow_until else {
            return Ok(count);
        };
        let until = end_of_leave(text, SystemClock.now()).ok_or_else(|| {
            let what = format!("expected a time or a span, found {:?}", one_line(text));
            Failure::new("not-a-time", what)
                .exit(Exit::Usage)
                .advice("give a time such as 2026-11-01T09:30:00Z, or a span such as 90m or 8h")
        })?;
        Ok(Some(AllowFor::Until(until)))
    }
}

/// Records a denial, through the service if one has the journal open.
#[derive(Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    answer: AnswerArgs,
    /// The ids of the requests, or unique beginnings of them; or the id of a session, and the seq
    /// of the request's record.
    #[arg(value_name = "REQUEST", required_unless_present_any = ["all", "session"])]
    requests: Vec<String>,
    /// The session whose open requests are denied with --all.
    #[arg(long, value_name = "SESSION", requires = "all")]
    session: Option<String>,
    /// Denies every request that is open in the session now; others may open later.
    #[arg(
        long,
        requires = "session",
        conflicts_with_all = ["requests", "payload", "request_hash"]
    )]
    all: bool,
}

impl Deny {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self.session {
            Some(session) => answer_many::deny_all(self.answer, &session, screen).await,
            None => {
                let answer = self.answer;
                answer
                    .record(self.requests, false, false, (None, None), screen)
                    .await
            }
        }
    }
}

/// The arguments of an answer to one request or to several.
#[derive(Args)]
pub(super) struct AnswerArgs {
    /// The journal: a directory, or postgres://… of a database.
    pub(super) path: Location,
    #[command(flatten)]
    pub(super) keys: Keys,
    /// The reason; the model gets the reason of a denial.
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// The payload for the tool: JSON that fits the schema which `recount pending` shows; @FILE
    /// reads it from a file, - from standard input.
    #[arg(long, value_name = "JSON")]
    pub(super) payload: Option<String>,
    /// The hash of the request that was reviewed, as `recount pending --json` shows it; the answer
    /// counts for no other request.
    #[arg(long, value_name = "HASH")]
    pub(super) request_hash: Option<ObjectHash>,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Prints one JSON document, or a line for each of several requests.
    #[arg(long)]
    pub(super) json: bool,
}

/// A request, by a word of the command line or by its id.
enum Named {
    Word(String),
    Id(RequestId),
}

impl Named {
    async fn find(&self, source: &mut Source) -> Result<RequestId, Failure> {
        match self {
            Named::Word(word) => ids::request(source, word).await,
            Named::Id(id) => Ok(*id),
        }
    }
}

impl AnswerArgs {
    /// Records the answer to each request that the words name.
    async fn record(
        self,
        words: Vec<String>,
        confirmed: bool,
        asks: bool,
        (args, allow_for): (Option<Json>, Option<AllowFor>),
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let named = match <[String; 1]>::try_from(words) {
            Ok([word]) => Named::Word(word),
            Err(words) => {
                let mut source = Source::writing(&self.path, &self.keys).await?;
                let found = named::requests(&mut source, &words).await;
                source.close().await?;
                match found?.as_slice() {
                    [id] => Named::Id(*id),
                    several => {
                        let answer = answer_many::AnswerMany {
                            requests: several.to_vec(),
                            confirmed,
                            asks,
                            is_edited: args.is_some(),
                            allow_for,
                        };
                        return answer.record(self, screen).await;
                    }
                }
            }
        };
        self.record_one(named, confirmed, asks, (args, allow_for), screen)
            .await
    }

    async fn record_one(
        self,
        named: Named,
        confirmed: bool,
        asks: bool,
        (args, allow_for): (Option<Json>, Option<AllowFor>),
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let payload = self
            .payload
            .as_deref()
            .map(|it| given_json("the payload", it));
        let payload = payload.transpose()?;
        let mut seen = self.request_hash;
        if asks && let Some(open) = self.open_request(&named).await? {
            if !agreed(&open, args.as_ref(), allow_for, screen).await? {
                screen.line("Nothing was recorded.")?;
                return Ok(Exit::Failed);
            }
            // The approval counts for the request that was shown.
            seen = seen.or(Some(open.request_hash));
        }
        let is_edited = confirmed && args.is_some();
        let mut answer = members!({ "confirmed": confirmed, });
        answer.extend(self.reason.map(|it| ("reason", Json::of_serialized(&it))));
        answer.extend(payload.map(|it| ("payload", it)));
        answer.extend(args.clone().map(|it| ("args", it)));
        answer.extend(allow_for.map(|it| ("allow_for", Json::of_serialized(&it))));
        answer.extend(seen.map(|it| ("request_hash", Json::of_serialized(&it))));
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let request = named.find(source).await?;
            let asked = source.confirmation(|it| it.id == request).await;
            let on_record = source.answer(request, &answer, self.name).await?;
            let anew = match &asked {
                // A failure to find the new request does not undo the answer.
                Some(asked) if is_edited => source.confirmation(|it| asked_anew(asked, it)).await,
                Some(_) | None => None,
            };
            let needs = asked.as_ref().and_then(|it| it.needs.clone());
            let decided = Decided {
                request,
                confirmed,
                allow_for,
                needs,
                args: args.or(asked.filter(|it| !it.sealed).map(|it| it.args)),
                anew: anew.map(|it| it.id),
            };
            Ok((decided, on_record))
        });
        let recorded = recorded.await?;
        let shown = show(&recorded, self.json, screen);
        shown.map_err(|failure| failure.behind_record(&recorded.on_record))?;
        Ok(Exit::Ok)
    }

    /// The request, if it is open. The journal is closed while the approver decides.
    async fn open_request(&self, named: &Named) -> Result<Option<PendingConfirmation>, Failure> {
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let named = match named.find(&mut source).await {
            Ok(id) => Ok(source.confirmation(|it| it.id == id).await),
            Err(failure) => Err(failure),
        };
        source.close().await?;
        named
    }
}

/// Shows the call to approve, and asks for a confirmation at the terminal.
async fn agreed(
    request: &PendingConfirmation,
    edited: Option<&Json>,
    allow_for: Option<AllowFor>,
    screen: &mut Screen,
) -> Result<bool, Failure> {
    question::show_question(request, screen)?;
    if let Some(edited) = edited {
        let edited = one_line(edited.as_str());
        screen.line(&format!("  with these arguments instead: {edited}"))?;
    }
    if let Some(bound) = allow_for {
        screen.line(&format!("  and later calls {}", bound_words(bound)))?;
    }
    screen.flush()?;
    let question = match request.about {
        About::Gate | About::Tool => "Approve this call?",
        About::InDoubt => "It may have run. Run it again?",
    };
    prompt::yes_or_no(question).await
}

/// A recorded answer, as the command prints it.
struct Decided {
    request: RequestId,
    confirmed: bool,
    /// The bound of the standing leave that the answer also gave.
    allow_for: Option<AllowFor>,
    /// The terms of the answers.
    needs: Option<Box<Needs>>,
    /// The arguments of the decision.
    args: Option<Json>,
    /// The new request with which the call waits again.
    anew: Option<RequestId>,
}

fn show(recorded: &Recorded<Decided>, json: bool, screen: &mut Screen) -> Result<(), Failure> {
    let Decided {
        request,
        confirmed,
        args,
        anew,
        allow_for,
        needs: _,
    } = &recorded.about;
    if json {
        screen.json(&recorded.json(json!({
            "request": request,
            "confirmed": confirmed,
            "args": args,
            "asked_anew": anew,
            "allow_for": allow_for,
            "missing": recorded.on_record.missing,
        })))?;
        return screen.flush();
    }
    let (what, tone) = if *confirmed {
        ("approved", Tone::Good)
    } else {
        ("denied", Tone::Bad)
    };
    let OnRecord {
        seq,
        tool,
        by,
        missing,
        ..
    } = &recorded.on_record;
    let text = format!("{tool} {what} {}, recorded at seq {seq}", acted("by", by));
    screen.toned(tone, &one_line(&text))?;
    if *missing > 0 {
        return show_missing(recorded, *missing, screen);
    }
    if let Some(args) = args {
        screen.line(&format!("  {}", one_line(args.as_str())))?;
    }
    if let Some(bound) = allow_for {
        screen.line(&format!(
            "Later calls of {} are allowed {}; `recount revoke` ends that.",
            one_line(tool),
            bound_words(*bound)
        ))?;
    }
    if let Some(anew) = anew {
        screen.line(&format!(
            "Changed arguments need their own approval: the call waits for an answer to request \
             {anew}."
        ))?;
    }
    let next = match (recorded.service, confirmed, anew) {
        (Some(pid), _, _) => format!("Recorded by the running service (pid {pid})."),
        (None, _, None) if recorded.is_in_database => on_record::IN_DATABASE.to_owned(),
        (None, true, None) => "The call starts when a process serves the session again.".to_owned(),
        (None, true, Some(_)) => return screen.flush(),
        (None, false, _) => "The model is told when a process serves the session again.".to_owned(),
    };
    screen.line(&next)?;
    screen.flush()
}

/// Shows that an approval counts and does not decide.
fn show_missing(
    recorded: &Recorded<Decided>,
    missing: u32,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let decided = &recorded.about;
    if let Some(args) = &decided.args {
        screen.line(&format!("  {}", one_line(args.as_str())))?;
    }
    let needs = decided.needs.as_deref();
    screen.line(&one_line(&progress(needs, missing)))?;
    if decided.allow_for.is_some() {
        screen.line("Later calls are allowed only if every approval says so.")?;
    }
    screen.line("The request stays open until then, and the call does not run.")?;
    screen.flush()
}

/// True if `now` is a new request about the same call, because its arguments were changed.
fn asked_anew(before: &PendingConfirmation, now: &PendingConfirmation) -> bool {
    let same = (now.session, now.call) == (before.session, before.call);
    same && now.id != before.id && now.about == About::Gate
}
