//! The contents of a bundle, read from a journal.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use recount::audit::{AuditedCall, Auditor, ClockReport, Filter};
use recount::ledger::{self, Error, Ledger, objects_named};
use recount::session::{Decision, Event, Fact, ObjectHash, Observation, Seq, SessionId, Timestamp};
use recount_evidence::{CHECKPOINT_SIGNED, Leaves, on_record};
use recount_journal::seal::is_sealed_object;
use recount_journal::{Hash, Head};

use crate::acts::Act;
use crate::contents::{
    Contents, Extent, OwnStream, SessionContents, StoredTerms, Subject, TermsChange,
};
use crate::disclosure::Disclose;
use crate::places::Places;
use crate::request::Request;
use crate::statements::Statements;

/// The number of records read at a time.
const PAGE: usize = 256;

/// The kinds of records about no call and without content of people or models. A new kind is not
/// among them, so its content is not shown.
const PLAIN: [&str; 22] = [
    "session_opened",
    "runner_attached",
    "runner_detached",
    "runner_draining",
    "catalog_changed",
    "connected",
    "disconnected",
    "go_away_received",
    "switch_planned",
    "reconnect_scheduled",
    "reconnects_exhausted",
    "resumption_handle_received",
    "responses_sent",
    "turn_completed",
    "turn_interrupted",
    "media_counted",
    "usage_reported",
    "phase_entered",
    "leave_revoked",
    "paused",
    "unpaused",
    "session_closed",
];

impl Contents {
    /// Reads what a journal has of the request.
    ///
    /// `leaves` are those of the whole journal. `progress` receives the number of records read so
    /// far, and the total. A session that cannot be read, for example because its key is missing,
    /// is [`unread`](SessionContents::unread), which is no error.
    ///
    /// ```
    /// # async fn example(ledger: recount::ledger::Ledger, request: recount_bundle::Request)
    /// # -> Result<(), recount::ledger::Error> {
    /// use recount_bundle::Contents;
    /// use recount_evidence::Leaves;
    ///
    /// let leaves = Leaves::of(&**ledger.journal()).await?;
    /// let contents = Contents::read(&ledger, request, &leaves, |_, _| ()).await?;
    /// println!("{} calls", contents.calls().count());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn read(
        ledger: &Ledger,
        request: Request,
        leaves: &Leaves,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Contents, Error> {
        let auditor = Auditor::new(ledger.clone(), Filter::default()).await?;
        let heads = ledger.session_heads().await?;
        let total = heads.iter().map(|(_, head)| head.seq).sum();
        let own_records = ledger.journal().head(uuid::Uuid::nil()).await?;
        let mut contents = Contents {
            extent: Extent {
                size: leaves.size(),
                root: leaves.root_at(leaves.size()).unwrap_or(Hash::ZERO),
                records: own_records.map_or(0, |head| head.seq),
                disclosed: 0,
                sessions: heads.len() as u64,
                sessions_in_scope: 0,
            },
            own: own_stream(ledger, &auditor).await?,
            request,
            sessions: Vec::new(),
            terms: StoredTerms::default(),
            population: Vec::new(),
            places: Places::default(),
            statements: Statements::default(),
            reads: None,
            redacted: BTreeMap::new(),
            redaction: None,
        };
        let mut done = 0;
        for (id, head) in heads {
            if let Some(session) = contents.session(ledger, &auditor, id, &head).await? {
                if contents.request.disclose != Disclose::None {
                    keep_terms(ledger, &session, &mut contents.terms).await?;
                }
                contents.extent.records += session.records;
                contents.sessions.push(session);
            }
            done += head.seq;
            progress(done, total);
        }
        contents.extent.sessions_in_scope = contents.sessions.len() as u64;
        contents.choose();
        contents.places = {
            let sessions = contents.sessions.iter().map(|it| it.id);
            let checkpoints = &contents.own.checkpoints;
            Places::of(&**ledger.journal(), leaves, checkpoints, sessions).await?
        };
        Ok(contents)
    }

    /// Reads a session, if it is in scope.
    async fn session(
        &self,
        ledger: &Ledger,
        auditor: &Auditor,
        id: SessionId,
        head: &Head,
    ) -> Result<Option<SessionContents>, Error> {
        let scope = &self.request.scope;
        if !scope.names(id) || scope.since.is_some_and(|since| head.at_us < since.0) {
            return Ok(None);
        }
        let opened = match ledger.opened(id).await {
            Err(error) if error.is_of_one_session() => None,
            opened => opened?.map(|(_, opened)| opened),
        };
        if opened.as_ref().is_some_and(|it| !scope.admits(id, it)) {
            return Ok(None);
        }
        let walked = Walked::of(ledger, id, |at| scope.covers(at)).await?;
        if !walked.reached {
            return Ok(None);
        }
        let audit = auditor.read(id).await?;
        let tool = |it: &AuditedCall| scope.tools.contains(&it.tool);
        let is_readable = audit.unread.is_none();
        if is_readable && !scope.tools.is_empty() && !audit.calls.iter().any(tool) {
            return Ok(None);
        }
        Ok(Some(SessionContents {
            id,
            records: head.seq,
            first_at: walked.first_at,
            last_at: Timestamp(head.at_us),
            opened,
            sealed: walked.sealed,
            calls: audit.calls,
            disclosed: BTreeSet::new(),
            catalogs: audit.catalogs,
            terms: walked.terms,
            acts: walked.acts,
            redacted: BTreeSet::new(),
            sealed_terms: walked.sealed_terms,
            unread: audit.unread,
            subjects: walked.subjects,
        }))
    }

    /// Draws the sample, and chooses the calls that are disclosed.
    fn choose(&mut self) {
        let disclose = self.request.disclose;
        let chosen = |call: &&AuditedCall| match disclose {
            Disclose::None => false,
            Disclose::Approvals => is_approval(call),
            Disclose::All => true,
        };
        let mut disclosed: BTreeMap<SessionId, BTreeSet<Seq>> = BTreeMap::new();
        let mut add = |session, call| {
            disclosed.entry(session).or_default().insert(call);
        };
        match &self.request.sample {
            Some(sample) => {
                let population = self.calls().filter(chosen).map(|it| sample.member(it));
                let population: Vec<_> = population.collect();
                let drawn = sample.draw(&population);
                drawn.iter().for_each(|it| add(it.session, it.call));
                self.population = population;
            }
            None => {
                let calls = self.sessions.iter().flat_map(|it| &it.calls);
                calls.filter(chosen).for_each(|it| add(it.session, it.seq));
            }
        }
        for session in &mut self.sessions {
            session.disclosed = disclosed.remove(&session.id).unwrap_or_default();
        }
        let shown = |session: &SessionContents| {
            let seqs = (1..=session.records).map(Seq);
            seqs.filter(|seq| self.shows(session, *seq)).count() as u64
        };
        let own = self.extent.records - self.sessions.iter().map(|it| it.records).sum::<u64>();
        self.extent.disclosed = own + self.sessions.iter().map(shown).sum::<u64>();
    }
}

/// True if a person was asked about the call, or a standing leave of a person allowed it.
fn is_approval(call: &AuditedCall) -> bool {
    !call.questions.is_empty() || call.leave.is_some()
}

async fn own_stream(ledger: &Ledger, auditor: &Auditor) -> Result<OwnStream, Error> {
    let mut notes = auditor.notes().await?;
    notes.retain(|it| it.kind != CHECKPOINT_SIGNED);
    Ok(OwnStream {
        notes,
        erasures: ledger.erasures().await?,
        holds: ledger.holds_on_record().await?,
        clock: ClockReport::of(&ledger.clock_observations().await?),
        checkpoints: on_record(&**ledger.journal()).await?,
    })
}

/// The records of a session, without their calls.
struct Walked {
    first_at: Timestamp,
    /// True if a record is within the time of the scope.
    reached: bool,
    sealed: bool,
    terms: Vec<TermsChange>,
    acts: Vec<Act>,
    /// The contracts and policies that unreadable records name.
    sealed_terms: Vec<(Hash, Hash)>,
    subjects: Vec<Subject>,
}

impl Walked {
    async fn of(
        ledger: &Ledger,
        id: SessionId,
        covers: impl Fn(Timestamp) -> bool,
    ) -> Result<Walked, Error> {
        let mut walked = Walked {
            first_at: Timestamp(0),
            reached: false,
            sealed: false,
            terms: Vec::new(),
            acts: Vec::new(),
            sealed_terms: Vec::new(),
            subjects: Vec::new(),
        };
        let mut next = Seq(1);
        loop {
            let entries = ledger.entries(id, next, PAGE).await?;
            let Some(last) = entries.last() else {
                return Ok(walked);
            };
            next = last.seq.next();
            for entry in &entries {
                if entry.seq == Seq(1) {
                    (walked.first_at, walked.sealed) = (entry.at(), entry.is_sealed());
                }
                walked.reached |= covers(entry.at());
                walked.add(id, entry);
            }
        }
    }

    fn add(&mut self, session: SessionId, entry: &ledger::Entry) {
        let fact = entry.fact().ok();
        self.acts
            .extend(fact.as_ref().and_then(|fact| Act::of(session, fact)));
        let call = fact.as_ref().and_then(|fact| self.call_of(fact));
        self.subjects.push(match call {
            Some(call) => Subject::Call(call),
            None if PLAIN.contains(&entry.kind()) => Subject::Plain,
            None => Subject::Other,
        });
        match fact {
            Some(fact) => self.terms.extend(terms_change(session, &fact)),
            // A sealed record names its objects in clear text, in this order.
            None => {
                let record = entry.record().ok();
                let named = record.map(|it| objects_named(&it)).unwrap_or_default();
                if let [contracts, policies] = *named {
                    self.sealed_terms.push((contracts, policies));
                }
            }
        }
    }

    /// Returns the call that a record is about.
    fn call_of(&self, fact: &Fact) -> Option<Seq> {
        let of = |record: Seq| {
            let place = usize::try_from(record.0.checked_sub(1)?).ok()?;
            match self.subjects.get(place)? {
                Subject::Call(call) => Some(*call),
                Subject::Plain | Subject::Other => None,
            }
        };
        match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(_)) => Some(fact.seq),
            Event::Observed(observation) => of(observation.about()?),
            Event::Decided(Decision::DeliveryChosen(it)) => of(it.response),
            Event::Decided(decision) => decision.call(),
        }
    }
}

fn terms_change(session: SessionId, fact: &Fact) -> Option<TermsChange> {
    let Event::Observed(observation) = &fact.event else {
        return None;
    };
    let (contracts, policies) = observation.terms_named()?;
    let mut change = TermsChange {
        session,
        seq: fact.seq,
        at: fact.at,
        kind: fact.event.kind(),
        program: None,
        rules: observation.rules().unwrap_or_default(),
        gates: None,
        contracts,
        policies,
    };
    if let Observation::RunnerAttached(it) = observation {
        change.program = Some(it.program.clone());
        change.gates = Some(it.gates.clone());
    }
    Some(change)
}

/// Keeps the policies and contracts that a session names.
async fn keep_terms(
    ledger: &Ledger,
    session: &SessionContents,
    terms: &mut StoredTerms,
) -> Result<(), Error> {
    for (contracts, policies) in &session.sealed_terms {
        let hash = |it: &Hash| ObjectHash::from_bytes(*it.as_bytes());
        terms.contracts.entry(hash(contracts)).or_default();
        terms.policies.entry(hash(policies)).or_default();
    }
    for change in &session.terms {
        let named = [
            (change.policies, &mut terms.policies),
            (change.contracts, &mut terms.contracts),
        ];
        for (hash, kept) in named {
            if let Entry::Vacant(place) = kept.entry(hash) {
                place.insert(content(ledger, session.id, hash).await?);
            }
        }
    }
    Ok(())
}

/// Returns the text of an object, opened if it is sealed and the key is here.
async fn content(
    ledger: &Ledger,
    session: SessionId,
    hash: ObjectHash,
) -> Result<Option<String>, Error> {
    let address = Hash::from_bytes(*hash.as_bytes());
    let Some(bytes) = ledger.journal().object(address).await? else {
        return Ok(None);
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    if !is_sealed_object(&bytes) {
        return Ok(text(&bytes));
    }
    let key = match ledger.key(session).await {
        Err(error) if error.is_of_one_session() => None,
        key => key?,
    };
    let opened = key.and_then(|key| key.open_object(&bytes).ok());
    Ok(opened.and_then(|it| text(&it)))
}
