//! The steps of every operation: open the journal or its service, operate, print the record.

use serde_json::{Value, json};

use crate::failures::Failure;
use crate::journal::{Keys, Location, Source};
use crate::terminal::{Screen, Tone};
use recount::control::OnRecord;
use recount_telling::one_line;

/// The line below an operation in a database.
pub(super) const IN_DATABASE: &str =
    "Recorded in the database: a node that has the agent goes on with it.";

/// A recorded operation.
pub(super) struct Recorded<T> {
    /// The subject of the operation.
    pub(super) about: T,
    pub(super) on_record: OnRecord,
    /// The process id of the service that recorded it, if one has the journal open.
    pub(super) service: Option<u32>,
    /// True if it is recorded in a database, which services on other machines may have open.
    pub(super) is_in_database: bool,
}

/// Opens the journal or connects to its service, does the operation, and closes it.
pub(super) async fn record<T>(
    at: &Location,
    keys: &Keys,
    operation: impl AsyncFnOnce(&mut Source) -> Result<(T, OnRecord), Failure>,
) -> Result<Recorded<T>, Failure> {
    let mut source = Source::writing(at, keys).await?;
    let service = source.service();
    let outcome = operation(&mut source).await;
    // Also after a refusal. A refusal is reported rather than a failed close.
    let closed = source.close().await;
    let (about, on_record) = outcome?;
    closed.map_err(|failure| failure.behind_record(&on_record))?;
    Ok(Recorded {
        about,
        on_record,
        service,
        is_in_database: at.path().is_none(),
    })
}

impl<T> Recorded<T> {
    /// The JSON members of every operation, and those of this one.
    pub(super) fn json(&self, own: Value) -> Value {
        let mut all = json!({
            "session": self.on_record.session,
            "seq": self.on_record.seq,
            "tool": self.on_record.tool,
            "by": self.on_record.by,
            "service": self.service,
        });
        if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
            all.extend(own);
        }
        all
    }

    /// Prints the operation as JSON or as `text`. A failure to print does not undo it.
    pub(super) fn show(
        &self,
        json: Option<Value>,
        text: &str,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let shown = match json {
            Some(json) => screen.json(&json),
            None => self.show_text(text, screen),
        };
        shown
            .and_then(|()| screen.flush())
            .map_err(|failure| failure.behind_record(&self.on_record))
    }

    fn show_text(&self, text: &str, screen: &mut Screen) -> Result<(), Failure> {
        screen.toned(Tone::Good, &one_line(text))?;
        screen.line(&match self.service {
            Some(pid) => format!("Recorded by the running service (pid {pid})."),
            None if self.is_in_database => IN_DATABASE.to_owned(),
            None => "The model is told when a process serves the session again.".to_owned(),
        })
    }
}
