//! The history for a new connection: the part of the conversation that its model does not know.
//!
//! A fresh conversation gets the whole history, a resumed one the part after its handle. The
//! history contains messages and call outcomes, each as a turn. Owed responses are not part of it,
//! because they are delivered on their own.
//!
//! An unfinished turn is asked for again. Its user messages and outcomes come last, as a request
//! for an answer, and the model's partial answer is left out. If a call of that turn is still open,
//! no answer is requested: its outcome will cause one, and the messages alone would make the model
//! call again.
//!
//! Some models accept no turns within a conversation, but do at the start of a fresh one, if the
//! setup announces them. When such a model resumes, it gets the part after its handle as live
//! input, in one message.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::agents::transcripts::NOT_RECORDED;
use crate::ledger::{self, Ledger};
use crate::live::continuation::Role;
use crate::session::{
    Decision, Event, Fact, HistoryForm, Observation, Outcome, Route, Seq, Session, Speaker,
};

/// The maximum number of records that are read, counted from the end.
pub(in crate::engine) const RECORDS_MAX: u64 = 20_000;

/// The number of records read at a time.
const PAGE: usize = 512;

/// The maximum number of turns in a history. The next two limit one turn and all turns, in bytes.
const TURNS_MAX: usize = 400;
const TURN_BYTES_MAX: usize = 16 << 10;
const BYTES_MAX: usize = 64 << 10;

/// A history, ready to be sent.
pub(in crate::engine) struct History {
    pub(in crate::engine) after: Seq,
    pub(in crate::engine) through: Seq,
    pub(in crate::engine) turns: u32,
    pub(in crate::engine) left_out: u32,
    pub(in crate::engine) answer_wanted: bool,
    pub(in crate::engine) form: HistoryForm,
    pub(in crate::engine) frames: Vec<String>,
}

impl History {
    /// True if the setup announces the history.
    pub(in crate::engine) fn is_announced(&self) -> bool {
        self.form == HistoryForm::Announced
    }
}

/// One turn of a history.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Part {
    /// A message. A piece continues the piece before it.
    Said {
        role: Role,
        text: String,
        piece: bool,
    },
    /// A call whose outcome will follow.
    Called { call: Seq },
    /// A call that ended.
    Ended {
        response: Seq,
        call: Seq,
        outcome: Outcome,
    },
}

/// A history in the form read from the records.
#[derive(Debug, Default)]
pub(in crate::engine) struct Outline {
    pub(in crate::engine) parts: VecDeque<Part>,
    /// The `hook_answered` that replaced a response, by that response.
    pub(in crate::engine) worded: BTreeMap<Seq, Seq>,
    pub(in crate::engine) left_out: u32,
    /// The index where the unfinished turn begins.
    pub(in crate::engine) open_from: usize,
    interrupted: bool,
}

/// Returns the last messages of the user and the model, oldest first.
///
/// They are `turns` at most, within the limits of a history.
pub(in crate::engine) async fn last_said(
    ledger: &Ledger,
    session: &Session,
    turns: usize,
) -> Result<Vec<(Speaker, String)>, ledger::Error> {
    let head = session.head.0;
    let mut records = PAGE as u64;
    loop {
        // A message that began before the first record read is left out.
        let mut outline = Outline::default();
        let from = head.saturating_sub(records) + 1;
        read(ledger, session, Seq(from), &mut outline).await?;
        let said = outline.parts.into_iter().filter_map(Part::said);
        let said: Vec<_> = said.filter(|(_, text)| !text.is_empty()).collect();
        if said.len() > turns || from == 1 || records >= RECORDS_MAX {
            let (said, _) = bounded(said);
            let speaker = |(role, text)| match role {
                Role::User => Some((Speaker::User, text)),
                Role::Model => Some((Speaker::Model, text)),
                Role::Engine => None,
            };
            let mut last: Vec<_> = said
                .into_iter()
                .rev()
                .filter_map(speaker)
                .take(turns)
                .collect();
            last.reverse();
            return Ok(last);
        }
        records = (records * 8).min(RECORDS_MAX);
    }
}

/// Reads the records of a session from `from` on.
pub(in crate::engine) async fn read(
    ledger: &Ledger,
    session: &Session,
    mut from: Seq,
    outline: &mut Outline,
) -> Result<(), ledger::Error> {
    while from <= session.head {
        let facts = ledger.facts(session.id, from, PAGE).await?;
        let Some(last) = facts.last().map(|fact| fact.seq) else {
            break;
        };
        for fact in &facts {
            outline.read(fact, session);
        }
        from = last.next();
    }
    Ok(())
}

impl Outline {
    pub(in crate::engine) fn read(&mut self, fact: &Fact, session: &Session) {
        match &fact.event {
            Event::Observed(observation) => self.observed(fact.seq, observation, session),
            Event::Decided(Decision::ResponseIssued(it))
                if it.outcome != Outcome::Interim
                    && !matches!(it.route, Route::Caller | Route::Parent)
                    && !session.deliveries.contains_key(&fact.seq) =>
            {
                let (response, call, outcome) = (fact.seq, it.call, it.outcome);
                self.push(Part::Ended {
                    response,
                    call,
                    outcome,
                });
            }
            Event::Decided(Decision::OutcomeReconciled(it))
                if it.route != Route::Caller && !session.deliveries.contains_key(&fact.seq) =>
            {
                self.push(Part::Ended {
                    response: fact.seq,
                    call: it.call,
                    outcome: it.told_as(),
                });
            }
            Event::Decided(_) => {}
        }
    }

    fn observed(&mut self, at: Seq, observation: &Observation, session: &Session) {
        if let Observation::UserTextSent(it) = observation {
            self.say(Role::User, &it.text, false);
        } else if let Observation::ModelOutputReceived(it) = observation {
            self.say(Role::Model, &it.text, true);
        } else if let Observation::TranscriptReceived(it) = observation {
            let role = match it.speaker {
                Speaker::User => Role::User,
                Speaker::Model => Role::Model,
            };
            self.say(role, &it.text, true);
        } else if let Observation::FunctionCallReceived(it) = observation {
            if it.by.is_none() && it.parent.is_none() && session.calls.contains_key(&at) {
                self.push(Part::Called { call: at });
            }
        } else if let Observation::HookAnswered(it) = observation {
            if let Some(response) = it.of {
                self.worded.insert(response, at);
            }
        } else if let Observation::TurnInterrupted(_) = observation {
            self.interrupted = true;
        } else if let Observation::TurnCompleted(_) = observation {
            // A user who interrupts has already spoken, and waits for the next turn.
            let spoken = self.parts.iter().rposition(|it| it.is_by_model());
            self.open_from = match (std::mem::take(&mut self.interrupted), spoken) {
                (true, Some(last)) => last + 1,
                (true, None) => 0,
                (false, _) => self.parts.len(),
            };
        }
    }

    /// Adds a message. One whose words are not recorded is empty, and only marks its turn.
    fn say(&mut self, role: Role, text: &str, piece: bool) {
        let text = if text == NOT_RECORDED { "" } else { text };
        let goes_on = piece && self.open_from < self.parts.len();
        if let Some(Part::Said {
            role: before,
            text: said,
            piece: true,
        }) = self.parts.back_mut()
            && goes_on
            && *before == role
        {
            said.push_str(text);
            return;
        }
        let text = text.to_owned();
        self.push(Part::Said { role, text, piece });
    }

    pub(in crate::engine) fn push(&mut self, part: Part) {
        self.parts.push_back(part);
        if self.parts.len() > TURNS_MAX {
            self.parts.pop_front();
            self.open_from = self.open_from.saturating_sub(1);
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    pub(in crate::engine) fn wants_an_answer(&self) -> bool {
        let mut open = self.parts.iter().skip(self.open_from);
        let waits = open.clone().any(|it| matches!(it, Part::Called { .. }));
        !waits && open.any(|it| !it.is_by_model() && !it.is_empty())
    }

    pub(in crate::engine) fn forget_the_unfinished_answer(&mut self) {
        let mut at = 0;
        let open_from = self.open_from;
        self.parts.retain(|part| {
            at += 1;
            at <= open_from || !part.is_by_model()
        });
    }
}

impl Part {
    fn said(self) -> Option<(Role, String)> {
        match self {
            Part::Said { role, text, .. } => Some((role, text)),
            Part::Called { .. } | Part::Ended { .. } => None,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Part::Said { text, .. } => text.is_empty(),
            Part::Called { .. } | Part::Ended { .. } => false,
        }
    }

    fn is_by_model(&self) -> bool {
        match self {
            Part::Said { role, .. } => *role == Role::Model,
            Part::Called { .. } | Part::Ended { .. } => false,
        }
    }
}

/// Returns the newest turns within the limits, and the number left out.
pub(in crate::engine) fn bounded(turns: Vec<(Role, String)>) -> (Vec<(Role, String)>, u32) {
    let mut bytes = 0;
    let mut kept: Vec<_> = Vec::new();
    let all = turns.len();
    for (role, mut text) in turns.into_iter().rev() {
        if text.len() > TURN_BYTES_MAX {
            let mut ends = (0..=TURN_BYTES_MAX).rev();
            let end = ends.find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
        bytes += text.len();
        if bytes > BYTES_MAX {
            break;
        }
        kept.push((role, text));
    }
    kept.reverse();
    let left_out = u32::try_from(all - kept.len()).unwrap_or(u32::MAX);
    (kept, left_out)
}
