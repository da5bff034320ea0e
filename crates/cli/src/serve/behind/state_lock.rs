//! The lock of a node's state, which two services must not share.
//!
//! In a directory, the lock of the journal stands for the files beside it. In a database it does
//! not: a second service would miss reads, sinks and traces, and go on without them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use crate::config::Config;
use crate::failures::{Failure, IN_USE};
use crate::journal::{Location, PATIENCE, RETRY_OPEN};
use crate::serve::start::make_private;
use recount_telling::shown;

/// The name of the file in the directory of the state. It has the id of the process that holds it.
const LOCK: &str = "LOCK";

/// The maximum length of a process id as text, in bytes.
const PID_BYTES_MAX: u64 = 20;

/// The lock of the state, until it is dropped or the process has ended.
pub(in crate::serve) struct StateLock {
    _file: Option<File>,
}

/// Locks the state of a node. It waits for a service that ends. Without a database there is nothing
/// to lock.
pub(in crate::serve) async fn take(config: &Config) -> Result<StateLock, Failure> {
    if let Location::Path(_) = config.journal() {
        return Ok(StateLock { _file: None });
    }
    let state = config.state();
    make_private(&state)?;
    let path = state.join(LOCK);
    let failed = |error: std::io::Error| Failure::io(format!("lock {}", shown(&path)), &error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(&path).map_err(failed)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(RETRY_OPEN).await;
            }
            Err(TryLockError::WouldBlock) => return Err(taken(&state, holder(&file))),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
    let pid = format!("{}\n", std::process::id());
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(pid.as_bytes()));
    written.map_err(failed)?;
    Ok(StateLock { _file: Some(file) })
}

/// The process that holds the lock, if its file says so.
fn holder(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn taken(state: &Path, holder: Option<u32>) -> Failure {
    let holder = holder.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let what = format!(
        "another service{holder} has the state in {}: who reads sessions, and the places of sinks \
         and traces",
        shown(state)
    );
    Failure::new(IN_USE, what).advice(
        "stop that process first, or give this node a state of its own: `state` of [postgres], or \
         the variable RECOUNT_SERVE_STATE",
    )
}
