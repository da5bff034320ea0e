//! The export of a session: its records exactly as they are stored.

use std::io::{self, BufWriter, Write};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use recount_journal::{block_on, export};
use tokio::sync::mpsc;

use crate::access::{Proof, Role};
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
        (status = "4XX", description = "Refused", body = Problem,
            content_type = "application/problem+json"),
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
        let _place = place;
        let failed = sender.clone();
        let mut out = BufWriter::with_capacity(CHUNK_BYTES, Chunks(sender));
        if let Err(error) = block_on(export(journal.as_ref(), Some(session.0), &mut out)) {
            // Without a reader, nothing remains to be told. The end of the response is missing.
            let _ = failed.blocking_send(Err(io::Error::other(error)));
        }
    });
    let body = Body::from_stream(unfold((chunks, caller.proof()), step));
    let content_type = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, content_type)], body).into_response())
}

/// Returns the next chunk, for a client that is still admitted.
async fn step(
    (mut chunks, proof): (Receiver, Proof),
) -> Option<(io::Result<Bytes>, (Receiver, Proof))> {
    let chunk = chunks.recv().await?;
    let chunk = match proof.check_again().await {
        Ok(()) => chunk,
        // The response ends without its trailer, so the client sees that it is incomplete.
        Err(_) => {
            chunks.close();
            Err(io::ErrorKind::PermissionDenied.into())
        }
    };
    Some((chunk, (chunks, proof)))
}

type Receiver = mpsc::Receiver<io::Result<Bytes>>;

/// A writer to the body of a response.
struct Chunks(mpsc::Sender<io::Result<Bytes>>);

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
