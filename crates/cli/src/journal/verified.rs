//! Verification of a journal or an export, wherever it is.

use std::collections::BTreeMap;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use recount_journal::verify::{self, Finding, Report};
use recount_journal::{Error, Head, Journal, Trailer, export_intact};
use uuid::Uuid;

use super::opening::trusts_others;
use super::{Location, exported};
use crate::failures::{Failure, IN_USE};
use crate::terminal::{Cause, Screen};
use recount::ledger;

/// The number of heads that are read at a time.
const PAGE: usize = 1_000;

/// The reach of the verification of a database.
const OF_DATABASE: &str = "read from the database in the order of the log: the hash chain of every \
                           stream, the heads, and the objects that records name; the tables of \
                           open items and requests are not compared";

/// Verifies the export or the journal at a location, or a copy of its commits if another process
/// has its directory open.
pub(crate) async fn verified(at: &Location, screen: &Screen) -> Result<Report, Failure> {
    match at {
        Location::Path(path) if exported::is_at(path) => exported::verified(path),
        Location::Path(path) => directory(path, screen),
        Location::Database(database) => {
            let journal = database.verifying()?;
            let report = by_export(&*journal).await?;
            journal.close().await?;
            Ok(report)
        }
    }
}

fn directory(path: &Path, screen: &Screen) -> Result<Report, Failure> {
    if let Some(verified) = screen.beside.verified(path) {
        return Ok(verified?);
    }
    let verified = if trusts_others() {
        verify::insecure_directory(path)
    } else {
        verify::directory(path)
    };
    let verified = verified.map_err(Failure::from);
    match verified {
        Err(failure) if failure.code == IN_USE => {
            screen.beside.copy_of(path, Cause::InUse)?;
            match screen.beside.verified(path) {
                Some(verified) => Ok(verified?),
                None => Err(failure),
            }
        }
        verified => verified,
    }
}

/// Verifies a journal by an export of it, which is nowhere kept. The heads are compared, too:
/// each is at most that of the export, which is read later.
async fn by_export(journal: &dyn Journal) -> Result<Report, Failure> {
    let heads = heads(journal).await?;
    let failed = |error| Failure::io("verify the journal", &error);
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let verifying = tokio::task::spawn_blocking(|| {
        verify::export_naming(BufReader::new(reader), ledger::objects_named)
    });
    let mut out = BufWriter::new(writer);
    let mut damage = Vec::new();
    let exported = export_intact(journal, &mut out, |finding| damage.push(finding)).await;
    drop(out);
    let panicked = |_| failed(std::io::Error::other("the verifier panicked"));
    let mut report = verifying.await.map_err(panicked)??;
    // After an error of reading, the file is incomplete and its verdict is about nothing.
    let trailer = exported?;
    // The cause comes before what follows from it: the next record of the stream has no
    // predecessor.
    report.findings.splice(0..0, damage);
    for stream in trailer.heads.keys().filter(|it| !heads.contains_key(it)) {
        // A stream that began since has a head by now.
        if journal.head(*stream).await?.is_none() {
            report.findings.push(Finding {
                session: Some(*stream),
                seq: None,
                what: "the session has records, and no head".to_owned(),
            });
        }
    }
    for (stream, head) in heads {
        if let Some(what) = difference(journal, (stream, &head), &trailer).await? {
            let session = Some(stream);
            report.findings.push(Finding {
                session,
                seq: Some(head.seq),
                what,
            });
        }
    }
    report.notes.push(OF_DATABASE.to_owned());
    Ok(report)
}

/// The heads of all streams, with that of the journal's own.
async fn heads(journal: &dyn Journal) -> Result<BTreeMap<Uuid, Head>, Failure> {
    let own = journal.head(Uuid::nil()).await?;
    let mut heads: BTreeMap<_, _> = own.map(|head| (Uuid::nil(), head)).into_iter().collect();
    let mut after = None;
    loop {
        let page = journal.sessions(after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(heads);
        };
        after = Some(*last);
        heads.extend(page);
    }
}

/// The difference between the head of a stream and its records, if there is one.
async fn difference(
    journal: &dyn Journal,
    (stream, head): (Uuid, &Head),
    trailer: &Trailer,
) -> Result<Option<String>, Failure> {
    let last = trailer.heads.get(&stream).map_or(0, |it| it.seq);
    if last < head.seq {
        let seq = head.seq;
        let what = format!("the head is at seq {seq}, and the log has records up to {last}");
        return Ok(Some(what));
    }
    let read = match journal.read(stream, head.seq, 1).await {
        Ok(read) => read,
        Err(Error::Damaged { what, .. }) => return Ok(Some(what)),
        Err(error) => return Err(error.into()),
    };
    let is_of_head = read.first().is_some_and(|line| line.leaf() == head.hash);
    let what = "the hash of the head is not that of its record";
    Ok((!is_of_head).then(|| what.to_owned()))
}
