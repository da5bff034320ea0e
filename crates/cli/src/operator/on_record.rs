//! The steps of every operation: the journal or its service, the operation, what is on record now.

use std::path::Path;

use serde_json::{Value, json};

use crate::failures::Failure;
use crate::journal::{Keys, Source};
use crate::terminal::{Screen, Tone};
use crate::text::one_line;
use recount::control::OnRecord;

/// An operation that is on record.
pub(super) struct Recorded<T> {
    /// The thing that the operation was about.
    pub(super) about: T,
    pub(super) on_record: OnRecord,
    /// The process of the service that did it, where one has the journal open.
    pub(super) service: Option<u32>,
}

/// Opens the journal at `path` or reaches its service, does the operation there, and closes it.
pub(super) async fn record<T>(
    path: &Path,
    keys: &Keys,
    operation: impl AsyncFnOnce(&mut Source) -> Result<(T, OnRecord), Failure>,
) -> Result<Recorded<T>, Failure> {
    let mut source = Source::writing(path, keys).await?;
    let service = source.service();
    let outcome = operation(&mut source).await;
    // Also after a refusal, which says more than a journal that was not closed.
    let closed = source.close().await;
    let (about, on_record) = outcome?;
    closed.map_err(|failure| failure.behind_record(&on_record))?;
    Ok(Recorded {
        about,
        on_record,
        service,
    })
}

impl<T> Recorded<T> {
    /// The members that every operation has in JSON, and its `own`.
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

    /// Prints it as JSON, or `text` and when the model is told. A failure to print undoes nothing.
    pub(super) fn show(
        &self,
        json: Option<Value>,
        text: &str,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let shown = match json {
            Some(json) => screen.json(&json),
            None => self.tell(text, screen),
        };
        shown
            .and_then(|()| screen.flush())
            .map_err(|failure| failure.behind_record(&self.on_record))
    }

    fn tell(&self, text: &str, screen: &mut Screen) -> Result<(), Failure> {
        screen.toned(Tone::Good, &one_line(text))?;
        screen.line(&match self.service {
            Some(pid) => format!("On record through the running service (pid {pid})."),
            None => "The model is told when the session is next served.".to_owned(),
        })
    }
}
