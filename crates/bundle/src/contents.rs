//! The values from which the page and the files of a bundle are made.

use std::collections::{BTreeMap, BTreeSet};

use recount::audit::{AuditedCall, CatalogNote, ClockReport, JournalNote, UnreadSession};
use recount::fixture::RecordRedaction;
use recount::ledger::{Erasure, Hold};
use recount::session::{Gates, ObjectHash, Seq, SessionId, SessionOpened, Timestamp};
use recount_evidence::{Checkpoint, Leaves, Recorded};
use recount_journal::Hash;
use recount_reads::OnRecord;

use crate::acts::Act;
use crate::disclosure::Disclose;
use crate::places::Places;
use crate::request::Request;
use crate::sample::Member;
use crate::statements::Statements;

/// The contents of a bundle, read once from a journal.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The request.
    pub request: Request,
    /// The numbers of records and sessions, in scope and outside.
    pub extent: Extent,
    /// The sessions in scope, oldest first.
    pub sessions: Vec<SessionContents>,
    /// The records of the journal about itself.
    pub own: OwnStream,
    /// The policies and contracts that the sessions in scope name.
    pub terms: StoredTerms,
    /// The calls from which the sample is drawn, in the order of sessions and records. Empty
    /// without a sample.
    pub population: Vec<Member>,
    /// The places of the records in scope.
    pub places: Places,
    /// Statements from outside of the journal. Empty unless the caller fills them in.
    pub statements: Statements,
    /// The reads of sessions in scope. `None` unless [`add_reads`](Contents::add_reads) was called.
    pub reads: Option<OnRecord>,
    /// The records that are redacted, with what is shown of their bodies.
    pub(crate) redacted: BTreeMap<(SessionId, Seq), String>,
    /// The redaction, which the page needs as well. `None` if nothing is taken out.
    pub(crate) redaction: Option<RecordRedaction>,
}

/// The numbers of records and sessions of a journal, and those in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of records of the journal: the leaves of its tree.
    pub size: u64,
    /// The root of its tree.
    pub root: Hash,
    /// The number of records in scope, with those of the journal's own stream.
    pub records: u64,
    /// The number of records in scope that are shown whole.
    pub disclosed: u64,
    /// The number of sessions of the journal.
    pub sessions: u64,
    /// The number of sessions in scope.
    pub sessions_in_scope: u64,
}

/// A session in scope.
#[derive(Clone, Debug)]
pub struct SessionContents {
    /// The session.
    pub id: SessionId,
    /// The number of its records.
    pub records: u64,
    /// The time of its first record.
    pub first_at: Timestamp,
    /// The time of its last record.
    pub last_at: Timestamp,
    /// Its agent, labels and outside names. `None` if they cannot be read.
    pub opened: Option<SessionOpened>,
    /// True if its records are sealed.
    pub sealed: bool,
    /// All its calls, in the order of their records. A report counts those that
    /// [`Scope::counts`](crate::Scope::counts) takes.
    pub calls: Vec<AuditedCall>,
    /// The calls whose records are shown whole, by the records that received them.
    pub disclosed: BTreeSet<Seq>,
    /// The calls about which a record is redacted.
    pub(crate) redacted: BTreeSet<Seq>,
    /// The changes of tools while the session lived.
    pub catalogs: Vec<CatalogNote>,
    /// The records that name policies and contracts.
    pub terms: Vec<TermsChange>,
    /// The acts of people that answer no request: pauses, and ends of standing leaves.
    pub acts: Vec<Act>,
    /// The reason if its calls could not be read. Whether it belongs to a scope of agents, tools or
    /// labels is then unknown, and it counts as in scope.
    pub unread: Option<UnreadSession>,
    /// The contracts and policies that records name which cannot be read.
    pub(crate) sealed_terms: Vec<(Hash, Hash)>,
    /// The subject of each record, in the order of the records.
    pub(crate) subjects: Vec<Subject>,
}

/// The subject of a record, by which it is shown or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A call.
    Call(Seq),
    /// None; the record has no content of people or models.
    Plain,
    /// Words of people or models, or what this program cannot read.
    Other,
}

/// A record from which on other policies and contracts may apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsChange {
    /// The session.
    pub session: SessionId,
    /// The seq of the record.
    pub seq: Seq,
    /// The time of the record.
    pub at: Timestamp,
    /// The kind of the record: `runner_attached` or `catalog_changed`.
    pub kind: &'static str,
    /// The program that attached, with its version. `None` for a `catalog_changed`, which is of the
    /// attached one.
    pub program: Option<String>,
    /// The number of the rules that decide from this record on.
    pub rules: u32,
    /// The status of confirmation gates. `None` if the record does not change it.
    pub gates: Option<Gates>,
    /// The hash of the contracts: the catalog of tools.
    pub contracts: ObjectHash,
    /// The hash of the policies.
    pub policies: ObjectHash,
}

/// The policies and contracts that sessions name, by their hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredTerms {
    /// The policies as JSON: each a `PolicySet`. `None` if they are sealed and the key is not here.
    pub policies: BTreeMap<ObjectHash, Option<String>>,
    /// The contracts as JSON: each a `Catalog`. `None` if they are sealed and the key is not here.
    pub contracts: BTreeMap<ObjectHash, Option<String>>,
}

/// The records of a journal about itself. They are always in scope and shown whole.
#[derive(Clone, Debug)]
pub struct OwnStream {
    /// Crashes, repairs, pauses, erasures and holds in words, oldest first.
    pub notes: Vec<JournalNote>,
    /// The erasures.
    pub erasures: BTreeMap<SessionId, Erasure>,
    /// All holds, also released ones.
    pub holds: Vec<Hold>,
    /// The anomalies of the machine's clocks.
    pub clock: ClockReport,
    /// The checkpoints on record, oldest first. Their signatures were not checked.
    pub checkpoints: Vec<Recorded>,
}

impl Contents {
    /// Notes that the journal continues a checkpoint from outside. Returns false if it does not:
    /// the journal was rewritten, or it is another one.
    ///
    /// `leaves` are those of the whole journal. Signatures are not checked.
    pub fn anchor(&mut self, checkpoint: &Checkpoint, leaves: &Leaves) -> bool {
        let (size, root) = checkpoint.tree();
        let continues = leaves.root_at(size) == Some(root);
        if continues {
            self.statements.anchored = Some(size);
        }
        continues
    }

    /// Adds what an access journal has about the sessions and the time in scope.
    pub fn add_reads(&mut self, mut found: OnRecord) {
        let scope = &self.request.scope;
        let covers = |first, last| {
            scope.since.is_none_or(|since| since <= last)
                && scope.until.is_none_or(|until| first < until)
        };
        found.reads.retain(|it| {
            let read = &it.read;
            let is_of = read.every_session || read.sessions.iter().any(|id| self.has_session(*id));
            is_of && covers(it.at, it.last)
        });
        found.missed.retain(|it| covers(it.from, it.until));
        found.switches.retain(|(at, _)| covers(*at, *at));
        self.reads = Some(found);
    }

    /// True if the session is in scope.
    #[must_use]
    pub fn has_session(&self, id: SessionId) -> bool {
        self.sessions.binary_search_by_key(&id, |it| it.id).is_ok()
    }

    /// Returns the calls that a report counts: those within the time and of the tools of the scope.
    pub fn calls(&self) -> impl Iterator<Item = &AuditedCall> {
        let calls = self.sessions.iter().flat_map(|it| &it.calls);
        calls.filter(|it| self.request.scope.counts(it))
    }

    /// True if the content of a call may be shown: its records are shown whole.
    #[must_use]
    pub fn is_disclosed(&self, call: &AuditedCall) -> bool {
        let place = self
            .sessions
            .binary_search_by_key(&call.session, |it| it.id);
        let session = place.ok().and_then(|at| self.sessions.get(at));
        session
            .is_some_and(|it| it.disclosed.contains(&call.seq) && !it.redacted.contains(&call.seq))
    }

    /// True if a record of a session in scope is shown whole.
    pub(crate) fn shows(&self, session: &SessionContents, seq: Seq) -> bool {
        match self.request.disclose {
            Disclose::None => return false,
            Disclose::All if self.request.sample.is_none() => return true,
            Disclose::Approvals | Disclose::All => {}
        }
        let place = seq.0.checked_sub(1).and_then(|it| usize::try_from(it).ok());
        match place.and_then(|it| session.subjects.get(it)) {
            Some(Subject::Plain) => true,
            Some(Subject::Call(call)) => session.disclosed.contains(call),
            Some(Subject::Other) | None => false,
        }
    }
}
