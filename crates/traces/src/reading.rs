//! The spans of a session of a journal.

use recount::ledger::{Error, Ledger};
use recount::session::{Seq, SessionId};

use crate::content::Content;
use crate::projection::Tracer;
use crate::span::Span;

/// The number of facts in one read.
const PAGE: usize = 256;

/// Returns the spans of a session that have ended, in the order of the records that end them.
///
/// ```
/// # async fn example(
/// #     ledger: recount::ledger::Ledger,
/// #     session: recount::session::SessionId,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use recount_traces::{Content, ExportRequest, Source, spans_of};
///
/// let spans = spans_of(&ledger, session, Content::default()).await?;
/// ExportRequest::write_lines(&Source::default(), &spans, std::io::stdout())?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::UnknownSession`]; [`Error::Sealed`] if the session is sealed and its key is missing;
/// the error of a record that cannot be read.
pub async fn spans_of(
    ledger: &Ledger,
    session: SessionId,
    content: Content,
) -> Result<Vec<Span>, Error> {
    let mut tracer = tracer_of(ledger, session, content).await?;
    let mut spans = Vec::new();
    read_to(ledger, &mut tracer, Seq(u64::MAX), &mut spans).await?;
    Ok(spans)
}

/// Returns a tracer of a session before its first fact.
pub(crate) async fn tracer_of(
    ledger: &Ledger,
    session: SessionId,
    content: Content,
) -> Result<Tracer, Error> {
    // The journal's own stream has the nil id and is not a session.
    let first = match session.0.is_nil() {
        true => None,
        false => ledger.entries(session, Seq(1), 1).await?.pop(),
    };
    let first = first.ok_or(Error::UnknownSession { session })?;
    Ok(Tracer::new(session, first.is_sealed(), content))
}

/// Applies the facts up to `last` that the tracer does not have yet.
pub(crate) async fn read_to(
    ledger: &Ledger,
    tracer: &mut Tracer,
    last: Seq,
    spans: &mut Vec<Span>,
) -> Result<(), Error> {
    let session = tracer.session().id;
    let mut next = tracer.session().head.next();
    while next <= last {
        let left = last.0.saturating_sub(next.0).saturating_add(1);
        let limit = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
        let facts = ledger.facts(session, next, limit).await?;
        let Some(end) = facts.last() else { break };
        next = end.seq.next();
        for fact in facts.iter().filter(|it| it.seq <= last) {
            ledger.provide(tracer.session_mut(), fact).await?;
            spans.extend(tracer.apply(fact));
        }
    }
    Ok(())
}
