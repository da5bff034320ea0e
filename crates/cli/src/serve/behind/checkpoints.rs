//! The checkpoints that a service makes behind its journal.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::{self, Config, Mistake};
use crate::failures::Failure;
use crate::serve::secret_file::private_text;
use recount::engine::{Engine, SystemClock};
use recount_evidence::{
    Anchor, Anchoring, Checkpoints, Following, PrivateKey, Signer, StatusBoard,
};
use recount_journal::{Journal, causes};

/// The time that the last checkpoint may take at the end, with its signers and anchors.
const LAST_MAX: Duration = Duration::from_secs(10);

/// The number of records after which a checkpoint is made, if the configuration names none.
const EVERY_RECORDS: u32 = 10_000;

/// The time after which a checkpoint is made, if the configuration names none.
const EVERY: Duration = Duration::from_secs(60);

/// The tasks that make checkpoints and hand them over, if there are any.
#[derive(Default)]
pub(in crate::serve) struct Signing {
    signing: Option<Task>,
    anchoring: Vec<Task>,
    board: Option<StatusBoard>,
}

struct Task {
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

/// The mistakes of `[checkpoints]`.
pub(in crate::serve) fn mistakes(config: &Config) -> Vec<Mistake> {
    settings(config).err().into_iter().collect()
}

/// Starts the tasks behind the journal of the sessions.
pub(in crate::serve) async fn start(config: &Config, engine: &Engine) -> Result<Signing, Failure> {
    behind(config, &config.local(), engine.ledger().journal(), None).await
}

/// Starts the tasks behind a journal at a path. A journal beside that of the sessions has a name,
/// which is added to the origin and to the directories of anchors.
pub(super) async fn behind(
    config: &Config,
    path: &Path,
    journal: &Arc<dyn Journal>,
    beside: Option<&str>,
) -> Result<Signing, Failure> {
    let settings = settings(config).map_err(|it| config::wrong(config.name(), &[it]))?;
    let (Some(mut settings), Some(given)) = (settings, &config.settings.checkpoints) else {
        return Ok(Signing::default());
    };
    if let Some(name) = beside {
        settings.origin = format!("{}/{name}", settings.origin);
    }
    let clock = SystemClock::shared();
    let journal = || Arc::clone(journal);
    let following = Following::open(settings, path, journal(), clock.clone()).await?;
    let (made, board) = (following.made(), following.status().clone());
    let signing = Task::of("checkpoints", |stopped| following.run(stopped));
    let mut anchoring = Vec::new();
    for (name, anchor) in &given.anchors {
        let anchor = match beside {
            Some(beside) => below(anchor, beside)?,
            None => anchor.clone(),
        };
        let named = (name.as_str(), anchor);
        let task = match Anchoring::open(named, path, journal(), clock.clone(), &board) {
            Ok(task) => task,
            // The service serves without it, and operators see why.
            Err(error) => {
                tracing::error!(anchor = %name, error = %causes(&error), "an anchor does not run");
                continue;
            }
        };
        let made = made.clone();
        anchoring.push(Task::of("an anchor", |stopped| task.run(made, stopped)));
    }
    Ok(Signing {
        signing: Some(signing),
        anchoring,
        board: Some(board),
    })
}

/// The anchor of a journal beside. Checkpoints are files named by their numbers of records, so
/// those of two journals need two directories.
fn below(anchor: &Anchor, name: &str) -> Result<Anchor, Failure> {
    let mut anchor = anchor.clone();
    let directory = match &mut anchor {
        Anchor::Directory(directory) => Some(directory),
        Anchor::Authority { directory, .. } => directory.as_mut(),
        Anchor::Command(_) => None,
    };
    if let Some(directory) = directory {
        directory.push(name);
        let what = format!("create {}", directory.display());
        std::fs::create_dir_all(&*directory).map_err(|error| Failure::io(what, &error))?;
    }
    Ok(anchor)
}

impl Signing {
    /// The status for operators, if checkpoints are made.
    pub(in crate::serve) fn board(&self) -> Option<&StatusBoard> {
        self.board.as_ref()
    }

    /// Makes the last checkpoint, hands it over, and stops. The journal must still be open. A
    /// signer or an anchor that takes longer than [`LAST_MAX`] is left.
    pub(in crate::serve) async fn stop(self) {
        let tasks = self.signing.iter().chain(&self.anchoring);
        let handles: Vec<_> = tasks.map(|it| it.task.abort_handle()).collect();
        let stopping = async {
            if let Some(signing) = self.signing {
                signing.stop().await;
            }
            for task in &self.anchoring {
                task.stop.send_replace(true);
            }
            for task in self.anchoring {
                task.stop().await;
            }
        };
        if timeout(LAST_MAX, stopping).await.is_err() {
            tracing::warn!("a signer or an anchor did not take the last checkpoint in time");
            handles.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}

impl Task {
    /// Starts a task, which ends with an error in the log or when it is asked to stop.
    fn of<F>(name: &'static str, run: impl FnOnce(watch::Receiver<bool>) -> F) -> Task
    where
        F: Future<Output = Result<(), recount_journal::Error>> + Send + 'static,
    {
        let (stop, stopped) = watch::channel(false);
        let running = run(stopped);
        let task = tokio::spawn(async move {
            if let Err(error) = running.await {
                tracing::error!(error = %causes(&error), "the task of {name} ends here");
            }
        });
        Task { task, stop }
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        if self.task.await.is_err() {
            tracing::error!("a task behind the journal panicked");
        }
    }
}

fn settings(config: &Config) -> Result<Option<Checkpoints>, Mistake> {
    let Some(given) = &config.settings.checkpoints else {
        return Ok(None);
    };
    let mut signers = Vec::new();
    for file in &given.keys {
        let text = private_text(file, "sign checkpoints")?;
        let key = text.parse::<PrivateKey>();
        let key = key.map_err(|error| file.mistake(error.to_string()))?;
        signers.push(Signer::Key(key));
    }
    if !given.signer.is_empty() {
        signers.push(Signer::Command(given.signer.clone()));
    }
    let records = given
        .every_records
        .as_ref()
        .map_or(EVERY_RECORDS, |it| it.value);
    Ok(Some(Checkpoints {
        origin: given.origin.value.clone(),
        signers,
        every_records: u64::from(records),
        every: given.every.as_ref().map_or(EVERY, |it| it.value),
    }))
}
