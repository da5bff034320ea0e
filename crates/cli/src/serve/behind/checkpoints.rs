//! The checkpoints that a service makes behind its journal.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{self, Config, Mistake};
use crate::failures::Failure;
use crate::serve::secret_file::private_text;
use recount::engine::{Engine, SystemClock};
use recount_evidence::{Checkpoints, Following, PrivateKey, Signer};

/// The number of records after which a checkpoint is made, if the configuration names none.
const EVERY_RECORDS: u32 = 10_000;

/// The time after which a checkpoint is made, if the configuration names none.
const EVERY: Duration = Duration::from_secs(60);

/// The task that makes checkpoints, if there is one.
pub(in crate::serve) struct Signing(Option<(JoinHandle<()>, watch::Sender<bool>)>);

/// The mistakes of `[checkpoints]`.
pub(in crate::serve) fn mistakes(config: &Config) -> Vec<Mistake> {
    settings(config).err().into_iter().collect()
}

/// Starts the task.
pub(in crate::serve) async fn start(config: &Config, engine: &Engine) -> Result<Signing, Failure> {
    let settings = settings(config).map_err(|it| config::wrong(config.name(), &[it]))?;
    let Some(settings) = settings else {
        return Ok(Signing(None));
    };
    let journal = Arc::clone(engine.ledger().journal());
    let clock = SystemClock::shared();
    let following = Following::open(settings, &config.journal(), journal, clock).await?;
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(async move {
        if let Err(error) = following.run(stopped).await {
            tracing::error!(%error, "no more checkpoints are made");
        }
    });
    Ok(Signing(Some((task, stop))))
}

impl Signing {
    /// Makes the last checkpoint, and stops. The journal must still be open.
    pub(in crate::serve) async fn stop(self) {
        if let Signing(Some((task, stop))) = self {
            stop.send_replace(true);
            if task.await.is_err() {
                tracing::error!("the task of checkpoints panicked");
            }
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
