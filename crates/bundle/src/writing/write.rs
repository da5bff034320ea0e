//! The writing of a bundle.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use recount::ledger::{Error, Ledger};
use recount::session::ObjectHash;
use recount_evidence::Leaves;
use recount_journal::seal::is_sealed_object;
use recount_journal::{Hash, Trailer};
use serde::Serialize;

use super::checkpoints::Signed;
use super::files::Files;
use super::records::write_records;
use super::{page, proofs, readme};
use crate::contents::Contents;
use crate::description::Description;
use crate::report;

/// The program that checks a bundle without Recount.
const VERIFY: &str = include_str!("../verify.py");

/// A bundle was not written. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The journal cannot be read.
    #[error(transparent)]
    Ledger(#[from] Error),
    /// There is something at the path of the bundle.
    #[error("expected nothing or an empty directory at {}", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
    },
    /// The bundle cannot be written.
    #[error("the bundle cannot be written")]
    Io(#[from] io::Error),
}

/// A written bundle.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// The number of records of the journal.
    pub size: u64,
    /// The root of its tree.
    pub root: Hash,
    /// The number of records in scope.
    pub records: u64,
    /// The number of records that are shown whole.
    pub disclosed: u64,
    /// The number of sessions in scope.
    pub sessions: u64,
    /// The number of calls that the report counts.
    pub calls: u64,
    /// The number of records under the latest checkpoint. `None` without a checkpoint.
    pub checkpoint: Option<u64>,
    /// The number of checkpoints on record that sign another tree: the journal was imported from a
    /// file of another order, or rewritten.
    pub checkpoints_of_another_tree: u64,
    /// The number of proofs of answers to approvals.
    pub proofs: u64,
    /// The SHA-256 of the manifest, by which the bundle can be named.
    pub manifest: Hash,
}

/// Writes a bundle to `path`: a zip file if the name ends with `.zip`, otherwise a directory.
///
/// `ledger`, `leaves` and `contents` are of the same journal at the same time: one that no process
/// writes to, or a copy. `progress` receives the number of records written so far, and the total.
/// The bundle gets its name when it is complete.
///
/// ```
/// # async fn example(ledger: recount::ledger::Ledger, request: recount_bundle::Request)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// use recount_bundle::{Contents, write};
/// use recount_evidence::Leaves;
///
/// let leaves = Leaves::of(&**ledger.journal()).await?;
/// let contents = Contents::read(&ledger, request, &leaves, |_, _| ()).await?;
/// let written = write(&ledger, &contents, &leaves, "evidence.zip".as_ref(), |_, _| ()).await?;
/// println!("{} records", written.records);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`WriteError`].
pub async fn write(
    ledger: &Ledger,
    contents: &Contents,
    leaves: &Leaves,
    path: &Path,
    progress: impl FnMut(u64, u64),
) -> Result<Written, WriteError> {
    let mut files = Files::create(path).map_err(|error| of_place(error, path))?;
    let signed = Signed::of(contents, leaves);
    let latest = signed.latest();
    let boundaries: BTreeSet<u64> = signed.all.iter().map(|it| it.checkpoint.size).collect();
    let wanted = proofs::answers(contents);

    files.begin("records.jsonl")?;
    let out = &mut files;
    let placed = write_records(ledger, contents, &boundaries, &wanted, out, progress).await?;
    files.end()?;
    let (description, trailer) = (
        Description::of(
            contents,
            signed.foreign,
            latest.map(|it| it.checkpoint.size),
        ),
        &placed.trailer,
    );
    same_tree(contents, trailer)?;

    let mut count = 0;
    if let Some(latest) = latest {
        files.put("checkpoint", latest.note.to_string().as_bytes())?;
        for it in signed.in_scope(contents) {
            let name = format!("checkpoints/{}-{}", it.checkpoint.size, it.seq);
            files.put(&name, it.note.to_string().as_bytes())?;
        }
        for (name, proof) in proofs::of_records(leaves, &placed, latest) {
            files.put(&name, proof.to_string().as_bytes())?;
            count += 1;
        }
    }
    for key in &contents.request.public_keys {
        let text = format!("{key}\n");
        let name = format!("keys/{}", key_file(key.name(), &text));
        files.put(&name, text.as_bytes())?;
    }
    // Those that only withheld records name would disclose what these do not.
    let terms = &contents.terms;
    let named = |hash: &&ObjectHash| placed.objects.contains(&Hash::from_bytes(*hash.as_bytes()));
    let (policies, contracts) = (terms.policies.keys(), terms.contracts.keys());
    put_objects(ledger, &mut files, "policies", policies.filter(named)).await?;
    put_objects(ledger, &mut files, "contracts", contracts.filter(named)).await?;
    if contents.request.sample.is_some() {
        put_lines(&mut files, "population.jsonl", &contents.population)?;
    }
    files.put("bundle.json", &description.to_json()?)?;
    files.put("verify.py", VERIFY.as_bytes())?;
    let report = report::html(contents);
    let report = match contents.redaction.clone() {
        Some(mut redaction) => page::without(&report, &mut redaction),
        None => report,
    };
    files.put("report.html", report.as_bytes())?;
    files.put("README.md", readme::text(contents, &description).as_bytes())?;
    let manifest = files.finish().map_err(|error| of_place(error, path))?;
    Ok(Written {
        size: contents.extent.size,
        root: contents.extent.root,
        records: contents.extent.records,
        disclosed: contents.extent.disclosed,
        sessions: contents.extent.sessions_in_scope,
        calls: contents.calls().count() as u64,
        checkpoint: latest.map(|it| it.checkpoint.size),
        checkpoints_of_another_tree: signed.foreign,
        proofs: count,
        manifest,
    })
}

/// The error of a place that is taken, or of the disk.
fn of_place(error: io::Error, path: &Path) -> WriteError {
    match error.kind() {
        ErrorKind::AlreadyExists => WriteError::Occupied {
            path: path.to_owned(),
        },
        _ => WriteError::Io(error),
    }
}

/// Fails if the journal has changed since its contents were read.
fn same_tree(contents: &Contents, trailer: &Trailer) -> io::Result<()> {
    let extent = &contents.extent;
    match (trailer.size, trailer.root) == (Some(extent.size), extent.root) {
        true => Ok(()),
        false => Err(io::Error::other("the journal changed while it was read")),
    }
}

fn put_lines(files: &mut Files, name: &str, lines: &[impl Serialize]) -> io::Result<()> {
    files.begin(name)?;
    for line in lines {
        serde_json::to_writer(&mut *files, line)?;
        files.write_all(b"\n")?;
    }
    files.end()
}

/// Writes objects as they are stored, named by their hash.
async fn put_objects(
    ledger: &Ledger,
    files: &mut Files,
    folder: &str,
    hashes: impl Iterator<Item = &ObjectHash>,
) -> Result<(), WriteError> {
    for hash in hashes {
        let address = Hash::from_bytes(*hash.as_bytes());
        let stored = ledger
            .journal()
            .object(address)
            .await
            .map_err(Error::from)?;
        if let Some(bytes) = stored {
            let ending = match is_sealed_object(&bytes) {
                true => "sealed",
                false => "json",
            };
            files.put(&format!("{folder}/{hash}.{ending}"), &bytes)?;
        }
    }
    Ok(())
}

/// The name of the file of a key: its own name without characters that paths do not have, and a
/// part of its hash.
fn key_file(name: &str, text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' });
    let hash = Hash::of_object(text.as_bytes()).to_string();
    let start: String = hash.chars().take(8).collect();
    format!("{}-{start}.pub", plain.collect::<String>())
}
