//! `recount approve` and `recount deny`: an answer on record. Nothing is started.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::failure::{Exit, Failure, refusal_code};
use super::keys::Keys;
use super::one_line::one_line;
use super::screen::Screen;
use super::sentence::who;
use super::style::Tone;
use super::{age, ids, opening, os_user};
use crate::engine::{self, Desk, SystemClock, ToolConfirmation};
use crate::ledger::Ledger;
use crate::session::{Actor, Rejection, RequestId, Seq, SessionId};

/// Records the answer to a confirmation request; it starts nothing itself.
#[derive(Args)]
pub(super) struct Answer {
    /// The directory of the journal.
    path: PathBuf,
    /// The id of the request, or a unique beginning of it.
    request: String,
    #[command(flatten)]
    keys: Keys,
    /// Why; of a denial the model is told.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Who answers, in place of the operating system's user; the record says that nobody checked the name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Answer {
    pub(super) async fn run(self, confirmed: bool, screen: &mut Screen) -> Result<Exit, Failure> {
        let by = os_user::actor(self.name)?;
        let ledger = self.keys.of(opening::writing(&self.path)?)?;
        let outcome = answer(&ledger, &self.request, confirmed, self.reason, &by).await;
        // What was appended is durable by now, so this can only tell that the closing mark is missing.
        ledger.journal().close().await?;
        let Answered {
            request,
            session,
            seq,
            tool,
        } = outcome?;
        if self.json {
            screen.json(&json!({
                "request": request,
                "session": session,
                "seq": seq,
                "tool": tool,
                "confirmed": confirmed,
                "by": by,
            }))?;
            return Ok(Exit::Ok);
        }
        let (what, tone) = if confirmed {
            ("approved", Tone::Good)
        } else {
            ("denied", Tone::Bad)
        };
        let text = format!("{tool} {what} by {}, on record at seq {seq}", who(&by));
        screen.toned(tone, &one_line(&text))?;
        let next = if confirmed {
            "The call starts with the next process that serves the session."
        } else {
            "The model is told when the session is next served."
        };
        screen.line(next)?;
        Ok(Exit::Ok)
    }
}

struct Answered {
    request: RequestId,
    session: SessionId,
    seq: Seq,
    tool: String,
}

async fn answer(
    ledger: &Ledger,
    text: &str,
    confirmed: bool,
    reason: Option<String>,
    by: &Actor,
) -> Result<Answered, Failure> {
    let (request, session) = ids::request(ledger, text).await?;
    let open = ledger
        .pending()
        .await?
        .into_iter()
        .find(|it| it.id == request);
    let desk = Desk::new(ledger.clone(), SystemClock::shared());
    let confirmation = ToolConfirmation {
        confirmed,
        reason,
        ..ToolConfirmation::default()
    };
    match desk.answer(request, confirmation, by.clone()).await {
        Ok(seq) => Ok(Answered {
            request,
            session,
            seq,
            tool: open.map(|it| it.tool).unwrap_or_default(),
        }),
        Err(engine::Error::Refused(rejection)) => Err(refused(ledger, session, &rejection).await),
        Err(error) => Err(error.into()),
    }
}

/// What was decided instead, by whom, when, and where that stands.
async fn refused(ledger: &Ledger, session: SessionId, rejection: &Rejection) -> Failure {
    let (what, at) = match rejection {
        Rejection::AlreadyAnswered(it) => {
            let said = if it.confirmed { "approved" } else { "denied" };
            (
                format!("the request was {said} by {}", who(&it.by)),
                Some(it.at),
            )
        }
        Rejection::RequestExpired { at } => (
            "nobody answered the request in time, so it was denied".to_owned(),
            Some(*at),
        ),
        Rejection::RequestWithdrawn { at, reason } => (
            format!("the request was withdrawn: {}", reason.in_words()),
            Some(*at),
        ),
        Rejection::RequestSuperseded { by } => (
            "the tool has changed and the question was asked anew".to_owned(),
            Some(*by),
        ),
        Rejection::UnknownRequest { .. }
        | Rejection::UnfitAnswer(_)
        | Rejection::ToolGone { .. }
        | Rejection::EditsNotAllowed
        | Rejection::UnknownCall { .. }
        | Rejection::CallSettled { .. }
        | Rejection::CallNotPaused { .. }
        | Rejection::WrongName { .. }
        | Rejection::ResponseNotAnObject
        | Rejection::UnfitState { .. }
        | Rejection::SessionClosed
        | Rejection::TooLarge { .. } => (rejection.to_string(), None),
    };
    let mut text = one_line(&what).into_owned();
    if let Some(at) = at {
        // The time is a courtesy: without it the seq still says where to look.
        if let Ok(Some(fact)) = ledger.fact(session, at).await {
            text.push_str(&format!(" at {}", age::moment(fact.at)));
        }
        text.push_str(&format!(", seq {at} of session {session}"));
    }
    let advice = if let Rejection::RequestSuperseded { by } = rejection {
        format!("answer the request {} instead", session.request_id(*by))
    } else {
        "the first answer counts; this one changed nothing".to_owned()
    };
    Failure::new(refusal_code(rejection), text)
        .exit(Exit::Refused)
        .advice(advice)
}
