//! The export of a session: its records exactly as they are stored.

use std::io::{self, BufWriter, Write};

use axum::body::Bytes;
use axum::response::Response;
use recount_journal::{Error, block_on, export};
use tokio::sync::mpsc;

use super::parts::{Parts, response};
use crate::access::Role;
use crate::problems::Problem;
use crate::requests::{InPath, Params, session};
use crate::routes::caller::Caller;

/// The size of a chunk, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// The number of chunks that wait for the client.
const CHUNKS: usize = 4;

/// Exports a session as JSON lines, exactly as its records are stored, with a trailer.
///
/// The file can be verified with SHA-256 alone. Sealed records stay sealed. The trailer is the last
/// line: a response without it is incomplete.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/export",
    operation_id = "exportSession",
    tag = "reports",
    params(("id" = String, Path, description = "The id of the session")),
    responses(
        (status = 200, description = "The export", body = String,
            content_type = "application/x-ndjson"),
    ),
)]
pub(crate) async fn get(
    caller: Caller,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Response, Problem> {
    params.only(&[])?;
    let session = session(&id)?;
    caller.session(session, Role::Viewer).await?;
    let place = caller.service.streams.take("streams")?;
    let journal = caller.ledger().journal().clone();
    let (sender, chunks) = mpsc::channel(CHUNKS);
    // The export writes to a blocking writer, so it waits for a slow client on a thread of its own.
    tokio::task::spawn_blocking(move || {
        let failed = sender.clone();
        let mut out = BufWriter::with_capacity(CHUNK_BYTES, Chunks(sender));
        if let Err(error) = block_on(export(journal.as_ref(), Some(session.0), &mut out)) {
            // Without a reader, there is no place for the error.
            let _ = failed.blocking_send(Err(error));
        }
    });
    let content_type = "application/x-ndjson";
    Ok(response(
        Export { chunks },
        caller.proof(),
        place,
        content_type,
    ))
}

/// The chunks of an export.
struct Export {
    chunks: mpsc::Receiver<Result<Bytes, Error>>,
}

impl Parts for Export {
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        Ok(self.chunks.recv().await.transpose()?)
    }

    /// The response ends without its trailer, so the client sees that it is incomplete.
    fn broken(&self, problem: Problem) -> io::Result<Bytes> {
        Err(io::Error::other(problem.code().as_str()))
    }
}

/// A writer to the body of a response.
struct Chunks(mpsc::Sender<Result<Bytes, Error>>);

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Bytes::copy_from_slice(bytes);
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.blocking_send(Ok(chunk)).map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
