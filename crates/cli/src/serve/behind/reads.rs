//! The recording of who reads sessions, in a journal beside that of the sessions.

use std::path::Path;
use std::sync::Arc;

use super::checkpoints::{self, Signing};
use crate::config::Config;
use crate::failures::Failure;
use crate::journal::{PATIENCE, access_path, opening};
use recount::control::Look;
use recount::engine::{PROGRAM, SystemClock};
use recount_journal::{DiskJournal, Journal};
use recount_reads::{Depth, Door, How, OnFailure, Read, Recorder, Settings, note_off};
use recount_telling::shown;

/// The name of the access journal in its checkpoints, behind the origin.
const NAME: &str = "access";

/// The status of a read that was served, as HTTP has it.
const SERVED: u16 = 200;

/// The recording of a service, if it has one.
pub(in crate::serve) struct Reads {
    recorder: Recorder,
    signing: Signing,
}

/// Opens the access journal beside the journal. `None` if the configuration switches the recording
/// off, which is then the next record of it, or if it cannot begin and the configuration serves
/// then.
pub(in crate::serve) async fn start(config: &Config) -> Result<Option<Reads>, Failure> {
    let path = access_path(&config.local());
    let settings = &config.settings.reads;
    let on_failure = settings.on_failure.as_ref().map(|it| it.value);
    let named = shown(&path);
    match (begin(config, &path).await, on_failure.unwrap_or_default()) {
        (Err(failure), OnFailure::Serve) => {
            let error = failure.message();
            let error = error.trim_end();
            tracing::error!(path = %named, error, "no read is recorded until the next start");
            Ok(None)
        }
        (Err(failure), OnFailure::Refuse) => {
            Err(failure.advice(format!("the access journal is {named}; docs/access.md")))
        }
        (Ok(reads), OnFailure::Serve | OnFailure::Refuse) => Ok(reads),
    }
}

async fn begin(config: &Config, path: &Path) -> Result<Option<Reads>, Failure> {
    let settings = &config.settings.reads;
    let (journal, clock) = (open(path)?, SystemClock::shared());
    if settings.record.as_ref().is_some_and(|it| !it.value) {
        note_off(journal.clone(), &*clock).await?;
        journal.close().await?;
        return Ok(None);
    }
    let mut chosen = Settings::default();
    if let Some(given) = &settings.on_failure {
        chosen.on_failure = given.value;
    }
    let recorder = Recorder::start(journal, clock, chosen).await?;
    let signing = checkpoints::behind(config, path, recorder.journal(), Some(NAME)).await?;
    Ok(Some(Reads { recorder, signing }))
}

fn open(path: &Path) -> Result<Arc<DiskJournal>, Failure> {
    let options = opening::options(path)?.create(true);
    let journal = options.program(PROGRAM).wait(PATIENCE).open()?;
    Ok(Arc::new(journal))
}

impl Reads {
    pub(in crate::serve) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Writes the end of the recording, makes the last checkpoint, and closes the access journal.
    pub(in crate::serve) async fn stop(self) -> Result<(), Failure> {
        self.recorder.stop().await;
        self.signing.stop().await;
        Ok(self.recorder.journal().close().await?)
    }
}

/// Records what a client of the control socket looks at. The error refuses it.
pub(in crate::serve) async fn looked(recorder: Recorder, look: Look) -> Result<(), String> {
    let read = Read {
        by: look.by,
        how: How::ControlToken,
        door: Door::Control,
        route: look.request.to_owned(),
        sessions: look.session.into_iter().collect(),
        every_session: look.session.is_none(),
        depth: match look.has_bodies {
            true => Depth::Bodies,
            false => Depth::Envelopes,
        },
        status: SERVED,
    };
    let recorded = recorder.record(read).await;
    recorded.map_err(|error| error.to_string())
}
