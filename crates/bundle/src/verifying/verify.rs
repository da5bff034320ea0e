//! The checks of a bundle, and their verdict.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::Path;

use recount::ledger::objects_named;
use recount_evidence::{Checkpoint, LogProof, Note, PublicKey};
use recount_journal::verify::{Integrity, export_naming};
use recount_journal::{Error, Hash, Record};
use serde::Deserialize;

use super::records::Records;
use super::sample::Population;
use super::source::Source;
use super::{sample, terms};
use crate::description::Counts;
use crate::disclosure::Disclose;
use crate::sample::Sample;
use crate::writing::{MANIFEST, sha256};

const RECORDS: &str = "records.jsonl";

/// Knowledge about a journal from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Public keys. If there are any, one of them must have signed the latest checkpoint.
    pub public_keys: Vec<PublicKey>,
    /// An earlier checkpoint, with which the records must begin.
    pub since: Option<Note>,
}

/// The checkpoint to which a verdict is anchored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchored {
    /// The name of the journal in it.
    pub origin: String,
    /// The number of records that it is about. Later records are only consistent.
    pub records: u64,
    /// The names of the known keys that signed it. Empty if no key is known, so that only the copy
    /// from elsewhere is an anchor.
    pub signed_by: Vec<String>,
}

/// The result of the verification of a bundle.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BundleReport {
    /// The faults. Empty for a bundle that is whole.
    pub findings: Vec<String>,
    /// The anchor, if something from elsewhere was given and there is no fault.
    pub anchored: Option<Anchored>,
    /// The number of records of the journal.
    pub size: u64,
    /// The root of its tree. `None` if it cannot be read.
    pub root: Option<Hash>,
    /// The number of records in scope.
    pub records: u64,
    /// The number of them that are shown whole.
    pub disclosed: u64,
    /// The number of sessions in scope.
    pub sessions: u64,
    /// The SHA-256 of the manifest, by which the bundle can be named. `None` if it is missing.
    pub manifest: Option<Hash>,
}

/// The parts of `bundle.json` that are checked.
#[derive(Deserialize)]
struct Described {
    #[serde(flatten)]
    counts: Counts,
    scope: DescribedScope,
    disclose: String,
    sample: Option<Sample>,
    #[serde(default)]
    redacted: Vec<String>,
    #[serde(default)]
    unread_sessions: u64,
}

/// The conditions of a scope that leave calls of its sessions out of the population.
#[derive(Deserialize)]
struct DescribedScope {
    since: Option<String>,
    until: Option<String>,
    tools: Vec<String>,
}

impl Described {
    /// True if the bundle is said to show every record in scope.
    fn shows_all(&self) -> bool {
        let all = self.disclose == Disclose::All.as_str();
        all && self.sample.is_none() && self.redacted.is_empty()
    }

    /// The promise about the calls of the sample.
    fn population(&self) -> Population {
        let scope = &self.scope;
        let has_condition =
            scope.since.is_some() || scope.until.is_some() || !scope.tools.is_empty();
        match self.disclose == Disclose::All.as_str() && !has_condition {
            true if self.unread_sessions == 0 => Population::EveryCall,
            true | false => Population::Chosen,
        }
    }
}

impl BundleReport {
    /// The verdict.
    #[must_use]
    pub fn integrity(&self) -> Integrity {
        match (self.findings.is_empty(), &self.anchored) {
            (false, _) => Integrity::Damaged,
            (true, None) => Integrity::Consistent,
            (true, Some(_)) => Integrity::Anchored,
        }
    }

    fn find(&mut self, finding: impl Into<String>) {
        self.findings.push(finding.into());
    }
}

/// Verifies a bundle: its manifest, records, checkpoints, proofs, terms and counts, and that they
/// agree with what is known from elsewhere.
///
/// ```
/// # fn example() -> Result<(), recount_journal::Error> {
/// use recount_bundle::{Outside, verify_bundle};
/// use recount_journal::verify::Integrity;
///
/// let report = verify_bundle("evidence.zip".as_ref(), &Outside::default())?;
/// // Without anything from elsewhere, no bundle is more than consistent.
/// assert_ne!(report.integrity(), Integrity::Anchored);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Io`] if the bundle cannot be opened. Everything else is a finding.
pub fn verify_bundle(path: &Path, outside: &Outside) -> Result<BundleReport, Error> {
    let opening = || Error::io(format!("read {}", path.display()));
    let mut report = BundleReport::default();
    let mut source = match Source::open(path) {
        Ok(source) => source,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            report.find(error.to_string());
            return Ok(report);
        }
        Err(error) => return Err(opening()(error)),
    };
    if let Err(error) = check(&mut source, outside, &mut report) {
        report.find(error.to_string());
    }
    if !report.findings.is_empty() {
        report.anchored = None;
    }
    Ok(report)
}

fn check(source: &mut Source, outside: &Outside, report: &mut BundleReport) -> io::Result<()> {
    let names = source.names()?;
    if names.iter().any(|it| it == MANIFEST) {
        report.manifest = Some(sha256(source.file(MANIFEST)?)?.0);
    }
    report.findings.extend(source.unsafe_names()?);
    report.findings.extend(manifest(source, &names)?);
    let mut notes = BTreeMap::new();
    for name in names.iter().filter(|it| it.starts_with("checkpoint")) {
        match checkpoint(&source.text(name)?) {
            Ok(read) => drop(notes.insert(name.as_str(), read)),
            Err(what) => report.find(format!("{name}: {what}")),
        }
    }
    let since = outside.since.as_ref();
    let since = since.and_then(|it| Some((it.clone(), Checkpoint::of(it).ok()?)));
    let mut proofs = BTreeMap::new();
    for name in names.iter().filter(|it| it.starts_with("proofs/")) {
        match source.text(name)?.parse::<LogProof>() {
            Ok(proof) => drop(proofs.insert(name, proof)),
            Err(error) => report.find(format!("{name}: {error}")),
        }
    }
    let all = || notes.values().chain(&since);
    let sizes = all().map(|(_, it)| it.size);
    let mut records = Records::wanted(sizes, proofs.values().map(|it| it.index));
    let verified = export_naming(BufReader::new(source.file(RECORDS)?), |it| {
        objects_named(it)
    });
    let verified = verified.map_err(io::Error::other)?;
    records.read(BufReader::new(source.file(RECORDS)?))?;
    report
        .findings
        .extend(verified.findings.iter().map(ToString::to_string));
    report.size = verified.size.unwrap_or_default();
    report.root = Some(verified.root);
    (report.records, report.sessions) = (verified.records, verified.sessions);
    report.disclosed = records.shown;
    if verified.size.is_none() {
        report.find("records.jsonl has not all leaves of the tree");
    }
    for (_, it) in all() {
        if let Some(what) = other_tree(it, &records, report.size) {
            report.find(what);
        }
    }
    let latest = notes.get("checkpoint");
    let latest_note = latest.map(|(note, _)| note);
    for (name, it) in &proofs {
        let leaf = records.leaves.get(&it.index).copied().flatten();
        if let Err(what) = proven(name, it, leaf, latest_note) {
            report.find(format!("{name}: {what}"));
        }
    }
    report
        .findings
        .extend(terms::check(source, &names, &records)?);
    described(source, &records, latest, report)?;
    anchor(latest, since.as_ref(), &outside.public_keys, report);
    Ok(())
}

/// Compares the files with the manifest.
fn manifest(source: &mut Source, names: &[String]) -> io::Result<Vec<String>> {
    let mut findings = Vec::new();
    if !names.iter().any(|it| it == MANIFEST) {
        return Ok(vec![format!("{MANIFEST} is missing")]);
    }
    let text = source.text(MANIFEST)?;
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    let mut listed: BTreeMap<&str, &str> = lines.map(|(sum, name)| (name, sum)).collect();
    for name in names.iter().filter(|it| *it != MANIFEST) {
        match listed.remove(name.as_str()) {
            None => findings.push(format!("{name} is not in the manifest")),
            Some(sum) if sha256(source.file(name)?)?.0.to_string() == sum => {}
            Some(_) => findings.push(format!("{name} is altered: the manifest has another hash")),
        }
    }
    let missing = listed.keys().map(|name| format!("{name} is missing"));
    findings.extend(missing);
    Ok(findings)
}

fn checkpoint(text: &str) -> Result<(Note, Checkpoint), String> {
    let note: Note = text.parse().map_err(|error| format!("{error}"))?;
    let checkpoint = Checkpoint::of(&note).map_err(|error| error.to_string())?;
    Ok((note, checkpoint))
}

/// The finding about a checkpoint of other records than those of the bundle.
fn other_tree(it: &Checkpoint, records: &Records, size: u64) -> Option<String> {
    let found = records.roots.get(&it.size).copied().flatten();
    let what = match found {
        Some(root) if root == it.root => return None,
        Some(_) => "the records do not begin with them: some were altered, taken away or put in",
        None if it.size > size => "records were taken away",
        None => "the bundle has no checkpoint of so many records, so its root cannot be checked",
    };
    let (size, origin) = (it.size, &it.origin);
    Some(format!(
        "the checkpoint of {size} records of {origin}: {what}"
    ))
}

/// Checks that a proof is about the record in its name, here and under the latest checkpoint.
fn proven(
    name: &str,
    proof: &LogProof,
    leaf: Option<Hash>,
    latest: Option<&Note>,
) -> Result<(), String> {
    let record = Record::parse(&proof.line).map_err(|error| error.to_string())?;
    let expected = format!("proofs/{}-{}.tlog-proof", record.session, record.seq);
    if name != expected || leaf != Some(Hash::of_line(&proof.line)) {
        return Err("it is about another record".to_owned());
    }
    if latest != Some(&proof.checkpoint) {
        return Err("it leads to another checkpoint than the latest one".to_owned());
    }
    let verified = proof.verify_unsigned();
    verified.map(drop).map_err(|error| error.to_string())
}

/// Compares `bundle.json` and the sample with the records.
fn described(
    source: &mut Source,
    records: &Records,
    latest: Option<&(Note, Checkpoint)>,
    report: &mut BundleReport,
) -> io::Result<()> {
    let told: Described = serde_json::from_slice(&source.read("bundle.json")?)?;
    let found = Counts {
        size: report.size,
        root: report.root.unwrap_or(Hash::ZERO),
        records: report.records,
        disclosed: report.disclosed,
        sessions_in_scope: report.sessions,
        sessions: told.counts.sessions,
        signed: latest.map(|(_, it)| it.size),
    };
    if told.counts != found {
        report.find("bundle.json has other counts, or another root");
    }
    if told.shows_all() && report.disclosed != report.records {
        report.find("bundle.json says that all records are shown, and some are withheld");
    }
    let is_redacted = !told.redacted.is_empty();
    if let Some(sample) = &told.sample {
        let population = source.text("population.jsonl")?;
        report.findings.extend(sample::check(
            &population,
            sample,
            told.population(),
            is_redacted,
            records,
        )?);
    }
    Ok(())
}

/// Anchors the report to the larger one of the checkpoints that are trusted.
fn anchor(
    latest: Option<&(Note, Checkpoint)>,
    since: Option<&(Note, Checkpoint)>,
    known: &[PublicKey],
    report: &mut BundleReport,
) {
    let latest = match (latest, known) {
        (_, []) => None,
        (None, _) => return report.find("there is no checkpoint that a given key has signed"),
        (latest, _) => latest,
    };
    for (note, checkpoint) in [latest, since].into_iter().flatten() {
        let signed_by = match known {
            [] => Vec::new(),
            known => match note.signed_by(known) {
                Ok(names) => names,
                Err(error) => {
                    let size = checkpoint.size;
                    report.find(format!("the checkpoint of {size} records: {error}"));
                    continue;
                }
            },
        };
        let best = report.anchored.as_ref().map_or(0, |it| it.records);
        if report.anchored.is_none() || checkpoint.size > best {
            report.anchored = Some(Anchored {
                origin: checkpoint.origin.clone(),
                records: checkpoint.size,
                signed_by,
            });
        }
    }
}
