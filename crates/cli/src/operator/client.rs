//! The commands of a client that runs calls: `claim`, `renew`, `finish` and `release`.

use clap::Args;
use serde_json::{Value, json};

use super::named::NamedCall;
use super::on_record::{self, Recorded};
use crate::failures::{Exit, Failure};
use crate::files::given_json;
use crate::journal::{Keys, Location, Source};
use crate::terminal::{Screen, Tone};
use recount::control::OnRecord;
use recount::engine::{ClaimKey, ClaimRequest, ClientAction};
use recount::session::{Lease, Seq};
use recount_telling::{acted, age, one_line, span};

/// Claims the oldest ready call of a client-run tool, and prints it.
///
/// Exit code 0 also if no call is ready; then it prints `null` with --json, or says so. The client
/// renews the claim while it works, and ends it with `finish` or `release`.
#[derive(Args)]
pub(crate) struct Claim {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    /// A tool that the client can run; may be given several times.
    #[arg(long = "tool", value_name = "NAME", required = true)]
    tools: Vec<String>,
    /// An agent whose sessions the client serves; may be given several times; default: any.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// A label that the session must have; may be given several times.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// The id of the claim, a new one for every claim; default: a random one.
    #[arg(long = "claim", value_name = "ID")]
    id: Option<String>,
    /// The time for which the call is held without a renewal: 1 s to 24 h.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = lease)]
    lease: Lease,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// A claim, as `recount claim` printed it.
#[derive(Args)]
struct Held {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    call: NamedCall,
    /// The id of the claim.
    #[arg(long = "claim", value_name = "ID")]
    id: String,
    /// The number of the start; default: the newest one.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// Renews the lease of a claimed call.
#[derive(Args)]
pub(crate) struct Renew {
    #[command(flatten)]
    held: Held,
    /// The time from now for which the call is held: 1 s to 24 h.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = lease)]
    lease: Lease,
}

/// Reports the result of a claimed call, or its failure.
///
/// A result that comes after its lease still counts, unless the call was claimed again or its
/// outcome was decided.
#[derive(Args)]
pub(crate) struct Finish {
    #[command(flatten)]
    held: Held,
    #[command(flatten)]
    outcome: Outcome,
}

/// The outcome of a run at a client.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Outcome {
    /// The result, a JSON value; @FILE reads it from a file, - from standard input.
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
    /// The reason of the failure; the model gets it.
    #[arg(long, value_name = "REASON")]
    failed: Option<String>,
}

/// Ends a claim without a result.
///
/// With --not-begun the call is ready for another client. Otherwise it is in doubt, and the rule of
/// its tool applies.
#[derive(Args)]
pub(crate) struct Release {
    #[command(flatten)]
    held: Held,
    /// The client has not begun to run the call.
    #[arg(long)]
    not_begun: bool,
    /// The reason, for the record.
    #[arg(long)]
    reason: Option<String>,
}

impl Claim {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let id = self.id.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let mut request = ClaimRequest::new(id).lease(self.lease);
        request.tools.extend(self.tools);
        request.agents.extend(self.agents);
        request.labels.extend(self.labels);
        let mut source = Source::writing(&self.path, &self.keys).await?;
        let outcome = source.claim(&request, self.name).await;
        let closed = source.close().await;
        let claimed = outcome?;
        closed?;
        if self.json {
            screen.json(&json!(claimed))?;
            return Ok(Exit::Ok);
        }
        let Some(it) = claimed else {
            screen.line("No call is ready for this client.")?;
            return Ok(Exit::Ok);
        };
        let (tool, args) = (one_line(&it.tool), one_line(it.args.as_str()));
        let text = format!("{tool} {args}");
        screen.toned(Tone::Good, &text)?;
        let until = age::moment(it.until);
        screen.line(&format!(
            "  call {} #{}, attempt {}, claim {}, until {until}",
            it.session,
            it.call,
            it.attempt,
            one_line(&it.claim)
        ))?;
        screen.line(&format!("  idempotency key {}", it.idempotency_key))?;
        Ok(Exit::Ok)
    }
}

impl Renew {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let action = ClientAction::Renew(self.lease);
        self.held.act(action, ("renewed", None), screen).await
    }
}

impl Finish {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let (result, done) = match (self.outcome.result, self.outcome.failed) {
            (Some(result), _) => (Ok(given_json("the result", &result)?), "finished"),
            (None, reason) => (Err(reason.unwrap_or_default()), "reported as failed"),
        };
        let next = "It is delivered when a process serves the session again.";
        let action = ClientAction::Return(result);
        self.held.act(action, (done, Some(next)), screen).await
    }
}

impl Release {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let (reason, not_begun) = (self.reason, self.not_begun);
        let next = match not_begun {
            true => "The call is ready for another client.",
            false => "The call is in doubt, and the rule of its tool applies.",
        };
        let end = ClientAction::End { reason, not_begun };
        self.held.act(end, ("released", Some(next)), screen).await
    }
}

impl Held {
    /// Does the action and prints it in a word. Without a service, also what follows from it.
    async fn act(
        self,
        action: ClientAction,
        (done, next): (&str, Option<&str>),
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let (session, call) = self.call.find(source).await?;
            let key = ClaimKey {
                session,
                call,
                attempt: self.attempt,
                claim: self.id.clone(),
            };
            let acted = source.act_for_client(key, action, self.name.clone());
            Ok((call, acted.await.map_err(refused)?))
        });
        let recorded = recorded.await?;
        let shown = match self.json {
            true => screen.json(&self.as_json(&recorded)),
            false => show(&recorded, done, next, screen),
        };
        shown
            .and_then(|()| screen.flush())
            .map_err(|failure| failure.behind_record(&recorded.on_record))?;
        Ok(Exit::Ok)
    }

    fn as_json(&self, recorded: &Recorded<Seq>) -> Value {
        recorded.json(json!({
            "call": recorded.about,
            "claim": self.id,
            "late": recorded.on_record.late,
            "until": recorded.on_record.until.map(age::stamp),
        }))
    }
}

/// The failure of a client's request, with advice about claims: a refusal concerns no request for
/// approval.
fn refused(failure: Failure) -> Failure {
    // The advice about an ended or unknown call is that of every command.
    let is_about_call = matches!(failure.code.as_ref(), "call-settled" | "unknown-call");
    if failure.exit != Exit::Refused || is_about_call {
        return failure;
    }
    failure.advice("nothing was changed; `recount log PATH SESSION` shows the claims of the call")
}

fn show(
    recorded: &Recorded<Seq>,
    done: &str,
    next: Option<&str>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let OnRecord {
        seq,
        tool,
        by,
        late,
        until,
        ..
    } = &recorded.on_record;
    let late = match late {
        true => ", after its lease",
        false => "",
    };
    let until = until.map(|it| format!(" until {}", age::moment(it)));
    let (by, until) = (acted("by", by), until.unwrap_or_default());
    let text = format!("{tool} {done} {by}{until}{late}, recorded at seq {seq}");
    screen.toned(Tone::Good, &one_line(&text))?;
    match (recorded.service, next) {
        (Some(pid), _) => screen.line(&format!("Recorded by the running service (pid {pid}).")),
        (None, Some(_)) if recorded.is_in_database => screen.line(on_record::IN_DATABASE),
        (None, Some(next)) => screen.line(next),
        (None, None) => Ok(()),
    }
}

/// Reads a lease, such as `60s`, `5m` or `2h`.
fn lease(text: &str) -> Result<Lease, String> {
    let length = span(text)
        .ok_or_else(|| format!("expected a time such as 60s, 5m or 2h, found {text:?}"))?;
    Lease::new(length).map_err(|error| error.to_string())
}

/// Reads a label: `key=value`.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| format!("expected KEY=VALUE, found {text:?}"))?;
    Ok((key.to_owned(), value.to_owned()))
}
