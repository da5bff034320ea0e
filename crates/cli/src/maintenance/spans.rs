//! `recount export --format otlp`: the spans of sessions that have ended, for a collector.

use std::io::Write;

use clap::{Args, ValueEnum};

use crate::failures::Failure;
use recount::ledger::{Error, Ledger};
use recount::session::SessionId;
use recount_traces::{Content, ExportRequest, Source, spans_of};

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The records, exactly as they are stored.
    #[default]
    Records,
    /// OpenTelemetry spans as lines of OTLP in JSON, an ExportTraceServiceRequest each.
    Otlp,
}

/// The options for spans.
#[derive(Args)]
pub(super) struct SpanOptions {
    /// The content that spans contain, with --format otlp: arguments, results, people, labels, with
    /// commas between them. Spans of sealed sessions never contain any.
    #[arg(long, value_name = "CONTENT")]
    pub(super) with: Option<Content>,
    /// The service.name of the spans, with --format otlp.
    #[arg(long, value_name = "NAME")]
    pub(super) service_name: Option<String>,
}

/// The numbers of an export of spans.
#[derive(Default)]
pub(super) struct Exported {
    pub(super) sessions: usize,
    pub(super) spans: usize,
    /// The sealed sessions whose keys are missing.
    pub(super) sealed: usize,
}

impl SpanOptions {
    pub(super) fn is_given(&self) -> bool {
        self.with.is_some() || self.service_name.is_some()
    }

    /// Writes the spans of a session, or of all.
    pub(super) async fn write(
        &self,
        ledger: &Ledger,
        session: Option<SessionId>,
        out: &mut (impl Write + Send),
    ) -> Result<Exported, Failure> {
        let mut exported = Exported::default();
        let mut pages = ledger.session_pages();
        if let Some(session) = session {
            self.write_one(ledger, session, out, &mut exported).await?;
            return Ok(exported);
        }
        while let Some(page) = pages.next().await? {
            for (session, _) in page {
                let written = self.write_one(ledger, session, out, &mut exported).await;
                match written {
                    // Without the key of one session, the others still have their spans.
                    Err(Unwritten::Read(Error::Sealed { .. })) => exported.sealed += 1,
                    written => written?,
                }
            }
        }
        Ok(exported)
    }

    async fn write_one(
        &self,
        ledger: &Ledger,
        session: SessionId,
        out: &mut (impl Write + Send),
        exported: &mut Exported,
    ) -> Result<(), Unwritten> {
        let spans = spans_of(ledger, session, self.with.unwrap_or_default()).await;
        let spans = spans.map_err(Unwritten::Read)?;
        let mut source = Source::default();
        if let Some(name) = &self.service_name {
            source.service_name.clone_from(name);
        }
        ExportRequest::write_lines(&source, &spans, out).map_err(Unwritten::Write)?;
        exported.sessions += 1;
        exported.spans += spans.len();
        Ok(())
    }
}

/// The reason why the spans of a session were not written.
enum Unwritten {
    Read(Error),
    Write(std::io::Error),
}

impl From<Unwritten> for Failure {
    fn from(it: Unwritten) -> Failure {
        match it {
            Unwritten::Read(error) => error.into(),
            Unwritten::Write(error) => Failure::io("write the spans", &error),
        }
    }
}
