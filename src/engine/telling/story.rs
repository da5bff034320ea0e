//! What a new connection has to be told of the conversation so far: everything that its model does
//! not know.
//!
//! Of a fresh conversation that is all of it, of a resumed one what came after its handle; what the
//! handle covers is not told again. Told are words and the outcomes of calls, each as a turn; what
//! is still owed to the model follows by itself. A turn that was cut off is asked for anew: the
//! user's words and the outcomes in it are said last, as words that want an answer, and what the
//! model had said of its answer is left out. Where a call of that turn is still open, no answer is
//! wanted yet: its outcome will bring one, and words alone would have the model call again.
//!
//! A model that takes no turns in the middle of a conversation takes them at the beginning of a
//! fresh one, where the setup announces them. What came after the handle of a resumed one it is
//! told as live input, all in one message.

use std::collections::{BTreeMap, VecDeque};

use crate::ledger::{self, Ledger};
use crate::live::continuation::Role;
use crate::session::{
    Decision, Event, Fact, HistoryForm, Observation, Outcome, Route, Seq, Session, Speaker,
};

/// How many of the last records are looked at.
pub(in crate::engine) const RECORDS_MAX: u64 = 20_000;

/// How many records are read at a time.
const PAGE: usize = 512;

/// How many turns are told, how long each may be, and all of them.
const TURNS_MAX: usize = 400;
const TURN_BYTES_MAX: usize = 16 << 10;
const BYTES_MAX: usize = 64 << 10;

/// The story, ready to be sent.
pub(in crate::engine) struct Story {
    pub(in crate::engine) after: Seq,
    pub(in crate::engine) through: Seq,
    pub(in crate::engine) turns: u32,
    pub(in crate::engine) left_out: u32,
    pub(in crate::engine) answer_wanted: bool,
    pub(in crate::engine) form: HistoryForm,
    pub(in crate::engine) frames: Vec<String>,
}

impl Story {
    /// True if the setup says that it follows.
    pub(in crate::engine) fn is_announced(&self) -> bool {
        self.form == HistoryForm::Announced
    }
}

/// One turn of the story.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Part {
    /// Something said; a piece goes on with the piece before it.
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

/// The story as it is read off the records.
#[derive(Debug, Default)]
pub(in crate::engine) struct Outline {
    pub(in crate::engine) parts: VecDeque<Part>,
    /// The `hook_answered` whose words took the place of a response, by that response.
    pub(in crate::engine) worded: BTreeMap<Seq, Seq>,
    pub(in crate::engine) left_out: u32,
    /// Where the turn begins that has not ended.
    pub(in crate::engine) open_from: usize,
    interrupted: bool,
}

/// The last words of user and model, oldest first: so many turns at most, and no more than is told
/// of a story.
pub(in crate::engine) async fn last_said(
    ledger: &Ledger,
    session: &Session,
    turns: usize,
) -> Result<Vec<(Speaker, String)>, ledger::Error> {
    let head = session.head.0;
    let mut records = PAGE as u64;
    loop {
        // Words that began before what is read are not told in part.
        let mut outline = Outline::default();
        let from = head.saturating_sub(records) + 1;
        read(ledger, session, Seq(from), &mut outline).await?;
        let said: Vec<_> = outline.parts.into_iter().filter_map(Part::said).collect();
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

/// Reads the records of a session from one of them on.
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
            // Whoever interrupts has spoken already, and waits for the turn after this one.
            let spoken = self.parts.iter().rposition(|it| it.is_by_model());
            self.open_from = match (std::mem::take(&mut self.interrupted), spoken) {
                (true, Some(last)) => last + 1,
                (true, None) => 0,
                (false, _) => self.parts.len(),
            };
        }
    }

    fn say(&mut self, role: Role, text: &str, piece: bool) {
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
        !waits && open.any(|it| !it.is_by_model())
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

    fn is_by_model(&self) -> bool {
        match self {
            Part::Said { role, .. } => *role == Role::Model,
            Part::Called { .. } | Part::Ended { .. } => false,
        }
    }
}

/// The newest turns that are not too much, and how many are.
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
