//! The stop switch for more than one session: pauses in the journal's own stream.
//!
//! The journal's last word on a scope counts: it is paused, or its pause has ended. Each session
//! that a word concerns observes it: it records the word before anything else, also after a crash
//! between the two records. A session that was imported from another journal keeps the pauses of
//! that journal until this one says something about their scope.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount_journal::Line;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Error, Ledger};
use crate::session::{
    Actor, Event, Fact, Observation, OpenKind, Pause, PauseScope, Paused, RULES_OF_PAUSES,
    Rejection, Seq, Session, SessionId, Timestamp, Unpaused, fits,
};

/// The kind of the record that pauses more than one session.
pub(crate) const PAUSED: &str = "paused";

/// The kind of the record that ends such a pause.
pub(crate) const UNPAUSED: &str = "unpaused";

/// The number of records read at a time.
const PAGE: usize = 1024;

/// A pause in force.
///
/// ```json
/// {"scope":"everything","reason":"the bank is down","by":{"name":"ada",
///  "authenticated_by":"os_user"},"at":7,"since_us":1795183387112345,"journal_record":7}
/// {"session":"0199…","scope":{"tool":"refund"},"by":{"name":"ada",
///  "authenticated_by":"os_user"},"at":21,"since_us":1795183387112345}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPause {
    /// The session whose record it is. `None` for the journal's own stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The pause.
    #[serde(flatten)]
    pub pause: Pause,
}

impl ListedPause {
    /// True if the pause holds a call of this session, which this agent serves.
    ///
    /// ```
    /// use recount::ledger::ListedPause;
    /// use recount::session::{Actor, Pause, PauseScope, Seq, SessionId, Timestamp};
    /// let pause = Pause {
    ///     scope: PauseScope::Agent("support".to_owned()),
    ///     reason: None,
    ///     by: Actor::embedder("ada"),
    ///     at: Seq(7),
    ///     since: Timestamp(0),
    ///     journal_record: Some(Seq(7)),
    /// };
    /// let listed = ListedPause { session: None, pause };
    /// assert!(listed.holds(SessionId(uuid::Uuid::nil()), "support", None));
    /// assert!(!listed.holds(SessionId(uuid::Uuid::nil()), "billing", None));
    /// ```
    ///
    /// With a `tool`, a pause of another tool does not count.
    #[must_use]
    pub fn holds(&self, session: SessionId, agent: &str, tool: Option<&str>) -> bool {
        let here = self.session.is_none_or(|it| it == session);
        here && match &self.pause.scope {
            PauseScope::Session | PauseScope::Everything => true,
            PauseScope::Agent(paused) => self.session.is_some() || paused == agent,
            PauseScope::Tool(paused) => tool.is_none_or(|it| it == paused),
        }
    }
}

/// The journal's last word on a scope.
#[derive(Clone, Debug)]
enum Word {
    Paused {
        pause: Pause,
        /// True if each process cancels the calls that it runs.
        cancels: bool,
    },
    Ended(Unpaused),
}

/// The body of the record of a pause, as far as the sessions do not observe it.
#[derive(Deserialize, Serialize)]
struct Wide<P> {
    #[serde(flatten)]
    paused: P,
    /// True if each process of the journal cancels the calls that it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cancel_running: bool,
}

/// The words of a journal on its pauses, as far as they were read. All clones of a ledger share
/// them.
#[derive(Debug, Default)]
pub(super) struct PauseBook {
    words: Mutex<Words>,
    /// The last record that changed a word.
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Words {
    of: BTreeMap<PauseScope, Word>,
    /// The last record that was read.
    read: u64,
}

impl PauseBook {
    fn words(&self) -> MutexGuard<'_, Words> {
        // Each record is folded in one step, so a panic elsewhere leaves whole words.
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds the record with this seq, unless another reader has.
    fn fold(&self, seq: u64, line: &Line) {
        let mut words = self.words();
        if seq <= words.read {
            return;
        }
        words.read = seq;
        // Records that do not parse are skipped here; `verify` reports them.
        let Ok(record) = line.record() else {
            return;
        };
        let (body, at) = (record.body.get(), Timestamp(record.at_us));
        let (scope, word) = match record.kind {
            PAUSED => match serde_json::from_str::<Wide<Paused>>(body) {
                Ok(it) => {
                    let pause = in_force(it.paused, Seq(seq), at);
                    let cancels = it.cancel_running;
                    (pause.scope.clone(), Word::Paused { pause, cancels })
                }
                Err(_) => return,
            },
            UNPAUSED => match serde_json::from_str::<Unpaused>(body) {
                Ok(it) => {
                    let journal_record = Some(Seq(seq));
                    let ended = Unpaused {
                        journal_record,
                        ..it
                    };
                    (ended.scope.clone(), Word::Ended(ended))
                }
                Err(_) => return,
            },
            _ => return,
        };
        words.of.insert(scope, word);
        self.version.store(seq, Ordering::Release);
    }
}

fn in_force(it: Paused, at: Seq, since: Timestamp) -> Pause {
    Pause {
        scope: it.scope,
        reason: it.reason,
        by: it.by,
        at,
        since,
        journal_record: Some(at),
    }
}

impl Ledger {
    /// Reads what the journal's own stream says about pauses since the last call.
    pub(crate) async fn read_pauses(&self) -> Result<(), Error> {
        loop {
            let next = self.pauses.words().read + 1;
            let lines = self.journal().read(Uuid::nil(), next, PAGE).await?;
            if lines.is_empty() {
                return Ok(());
            }
            for (line, seq) in lines.iter().zip(next..) {
                self.pauses.fold(seq, line);
            }
        }
    }

    /// The version of what was read: it changes with every pause of more than one session.
    pub(crate) fn pause_version(&self) -> u64 {
        self.pauses.version.load(Ordering::Acquire)
    }

    /// Returns the pauses in force that are recorded after `seen` and with which each process
    /// cancels the calls that it runs.
    pub(crate) fn cancelling_pauses(&self, seen: u64) -> Vec<Pause> {
        let words = self.pauses.words();
        let cancelling = words.of.values().filter_map(|word| match word {
            Word::Paused {
                pause,
                cancels: true,
            } => Some(pause.clone()),
            Word::Paused { cancels: false, .. } | Word::Ended(_) => None,
        });
        cancelling.filter(|it| it.at.0 > seen).collect()
    }

    /// Returns the pauses, and the ends of pauses, that a session of this agent has not observed.
    pub(crate) fn unobserved_pauses(&self, session: &Session, agent: &str) -> Vec<Observation> {
        if session.closed {
            return Vec::new();
        }
        let words = self.pauses.words();
        let concerns = |scope: &PauseScope| match scope {
            PauseScope::Everything => true,
            PauseScope::Agent(name) => name == agent,
            PauseScope::Session | PauseScope::Tool(_) => false,
        };
        let mut owed = Vec::new();
        for (scope, word) in words.of.iter().filter(|(scope, _)| concerns(scope)) {
            let observed = session.pauses.of(scope);
            match word {
                Word::Paused { pause, .. } => {
                    let known = observed.and_then(|it| it.journal_record);
                    if known != pause.journal_record {
                        owed.push(observation(pause).into());
                    }
                }
                Word::Ended(ended) => {
                    if observed.is_some() {
                        owed.push(ended.clone().into());
                    }
                }
            }
        }
        owed
    }

    /// Records a pause of more than one session in the journal's own stream, and that each process
    /// cancels the calls that it runs, if that is asked.
    pub(crate) async fn pause_sessions(
        &self,
        (scope, reason): (PauseScope, Option<String>),
        cancel_running: bool,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Seq, Rejection>, Error> {
        let paused = Paused {
            scope,
            reason,
            by,
            journal_record: None,
            not_begun: Vec::new(),
            rules: RULES_OF_PAUSES,
        };
        let scope = paused.scope.clone();
        let refused = |word: Option<&Word>| match word {
            Some(Word::Paused { pause, .. }) => {
                Some(Rejection::AlreadyPaused(Box::new(pause.clone())))
            }
            Some(Word::Ended(_)) | None => None,
        };
        let observed = paused.clone().into();
        let body = Wide {
            paused,
            cancel_running,
        };
        self.record_word((PAUSED, &body), (&scope, observed), now, refused)
            .await
    }

    /// Records the end of such a pause.
    pub(crate) async fn unpause_sessions(
        &self,
        scope: PauseScope,
        reason: Option<String>,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Seq, Rejection>, Error> {
        let ended = Unpaused {
            scope,
            reason,
            by,
            journal_record: None,
            rules: RULES_OF_PAUSES,
        };
        let scope = ended.scope.clone();
        let refused = |word: Option<&Word>| match word {
            Some(Word::Paused { .. }) => None,
            Some(Word::Ended(_)) | None => {
                let scope = scope.clone();
                Some(Rejection::NotPaused { scope })
            }
        };
        let observed = ended.clone().into();
        self.record_word((UNPAUSED, &ended), (&scope, observed), now, refused)
            .await
    }

    /// Appends a word on a scope to the journal's own stream, unless the last word on it is a
    /// reason to refuse it.
    async fn record_word(
        &self,
        (kind, body): (&str, &impl Serialize),
        (scope, observed): (&PauseScope, Observation),
        now: Timestamp,
        refused: impl Fn(Option<&Word>) -> Option<Rejection>,
    ) -> Result<Result<Seq, Rejection>, Error> {
        let about = (SessionId(Uuid::nil()), observed.actor());
        if let Err(rejection) = fits(observed) {
            return Ok(Err(rejection));
        }
        loop {
            let head = self.own_head().await?;
            self.read_pauses().await?;
            if let Some(rejection) = refused(self.pauses.words().of.get(scope)) {
                return Ok(Err(rejection));
            }
            if let Some(seq) = self.append_own(head, about, (kind, body), now).await? {
                self.read_pauses().await?;
                return Ok(Ok(seq));
            }
        }
    }

    /// Returns every pause in force: those of more than one session, then those of single sessions
    /// and tools, oldest session first.
    ///
    /// Pauses of a sealed session whose key is not available are omitted.
    ///
    /// ```
    /// # async fn example(
    /// #     ledger: recount::ledger::Ledger,
    /// # ) -> Result<(), recount::ledger::Error> {
    /// for listed in ledger.pauses().await? {
    ///     println!("{} is paused by {}", listed.pause.scope, listed.pause.by);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn pauses(&self) -> Result<Vec<ListedPause>, Error> {
        self.read_pauses().await?;
        let wide: Vec<Pause> = {
            let words = self.pauses.words();
            let paused = words.of.values().filter_map(|word| match word {
                Word::Paused { pause, .. } => Some(pause.clone()),
                Word::Ended(_) => None,
            });
            paused.collect()
        };
        let mut listed: Vec<ListedPause> = wide
            .into_iter()
            .map(|pause| ListedPause {
                session: None,
                pause,
            })
            .collect();
        for item in self.open_items().await? {
            if item.kind != OpenKind::Pause.as_str() {
                continue;
            }
            let session = SessionId(item.session);
            let fact = match self.fact(session, Seq(item.item)).await {
                Err(error) if error.is_of_one_session() => continue,
                fact => fact?,
            };
            if let Some(Fact {
                seq,
                at,
                event: Event::Observed(Observation::Paused(it)),
                ..
            }) = fact
            {
                let journal_record = it.journal_record;
                let pause = Pause {
                    journal_record,
                    ..in_force(it, seq, at)
                };
                // The record in the journal's own stream lists it for all its sessions.
                let is_listed = |other: &ListedPause| {
                    other.pause.scope == pause.scope && other.pause.journal_record == journal_record
                };
                if journal_record.is_none() || !listed.iter().any(is_listed) {
                    let session = Some(session);
                    listed.push(ListedPause { session, pause });
                }
            }
        }
        Ok(listed)
    }
}

/// Returns the observation with which a session takes over a pause.
fn observation(pause: &Pause) -> Paused {
    Paused {
        scope: pause.scope.clone(),
        reason: pause.reason.clone(),
        by: pause.by.clone(),
        journal_record: pause.journal_record,
        not_begun: Vec::new(),
        rules: RULES_OF_PAUSES,
    }
}

#[cfg(test)]
#[path = "pauses_tests.rs"]
mod tests;
