//! Messages that a service repeats: of a row of them the newest goes on record, or one for all.
//!
//! | message | held back | goes on record |
//! |---|---|---|
//! | handle update | behind another one | the newest, after ten seconds |
//! | usage | behind 256 messages of a row | the newest, after ten seconds |
//! | words of a transcript or of the model | behind 256 messages of a row | joined, after a second or 4 KiB |
//!
//! A row is messages of these kinds between which nothing else goes on record. Held messages go on
//! record before anything else does, so they are never behind a later one.

use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use crate::session::{Observation, ResumptionHandle, Seq, Timestamp};

/// The interval after which a handle update that follows another one is recorded for itself: that
/// much of the conversation's media a crash may lose from the handle.
const UPDATE_INTERVAL: Duration = Duration::from_secs(10);

/// The longest time for which words are held back: that much of them a crash may lose.
const WORDS_INTERVAL: Duration = Duration::from_secs(1);

/// The number of words, in bytes, that are held back.
const WORDS_BYTES_MAX: usize = 4 << 10;

/// The number of messages of a row that go on record one by one: more than a minute of speech.
const ONE_BY_ONE_MAX: u32 = 256;

/// The messages that are held back.
#[derive(Debug, Default)]
pub(in crate::engine) struct HeldBack {
    /// Words that came before the handle, which covers them: joined, by speaker.
    pub(in crate::engine) before: Vec<Observation>,
    pub(in crate::engine) handle: Option<(Observation, Option<ResumptionHandle>)>,
    /// Words that came after it.
    after: Vec<Observation>,
    bytes: usize,
    usage: Option<Observation>,
    /// The last record of the row, and its time.
    pub(in crate::engine) last: Option<(Seq, Timestamp)>,
    /// The number of messages of the row that are on record.
    pub(in crate::engine) row: u32,
    /// The last of them was nothing but an update of the handle.
    pub(in crate::engine) is_update: bool,
    pub(in crate::engine) timer: Option<(Timestamp, AbortOnDropHandle<()>)>,
}

/// The kinds of message that come in rows.
pub(in crate::engine) enum Repeats {
    Handle,
    Usage,
    Words(usize),
}

pub(in crate::engine) fn repeats(observation: &Observation) -> Option<Repeats> {
    if let Observation::ResumptionHandleReceived(_) = observation {
        Some(Repeats::Handle)
    } else if let Observation::UsageReported(_) = observation {
        Some(Repeats::Usage)
    } else if let Observation::TranscriptReceived(it) = observation {
        Some(Repeats::Words(it.text.len()))
    } else if let Observation::ModelOutputReceived(it) = observation {
        Some(Repeats::Words(it.text.len()))
    } else {
        None
    }
}

/// Joins words to those of the same speaker that are held back.
fn join(held: &mut Vec<Observation>, words: Observation) {
    for before in held.iter_mut() {
        if let (Observation::TranscriptReceived(one), Observation::TranscriptReceived(two)) =
            (&mut *before, &words)
            && (one.epoch, one.speaker) == (two.epoch, two.speaker)
        {
            one.text.push_str(&two.text);
            return;
        }
        if let (Observation::ModelOutputReceived(one), Observation::ModelOutputReceived(two)) =
            (before, &words)
            && one.epoch == two.epoch
        {
            one.text.push_str(&two.text);
            return;
        }
    }
    held.push(words);
}

impl HeldBack {
    pub(in crate::engine) fn is_empty(&self) -> bool {
        let words = [&self.before, &self.after];
        words.into_iter().all(Vec::is_empty) && self.handle.is_none() && self.usage.is_none()
    }

    /// True if a message may be held back now: it is of a row, and nothing of it is due.
    pub(in crate::engine) fn takes(&self, observations: &[Observation], now: Timestamp) -> bool {
        let Some((_, at)) = self.last else {
            return false;
        };
        let mut bytes = self.bytes;
        let one_by_one = self.row < ONE_BY_ONE_MAX;
        let takes = |it: &Observation| {
            repeats(it).is_some_and(|it| match it {
                Repeats::Handle => {
                    let follows = self.is_update || self.handle.is_some() || !one_by_one;
                    follows && now < at.after(UPDATE_INTERVAL)
                }
                Repeats::Usage => !one_by_one && now < at.after(UPDATE_INTERVAL),
                Repeats::Words(more) => {
                    bytes = bytes.saturating_add(more);
                    !one_by_one && now < at.after(WORDS_INTERVAL) && bytes <= WORDS_BYTES_MAX
                }
            })
        };
        observations.iter().all(takes)
    }

    pub(in crate::engine) fn hold(
        &mut self,
        observations: Vec<Observation>,
        handle: Option<ResumptionHandle>,
    ) {
        let mut handle = handle;
        for observation in observations {
            match repeats(&observation) {
                // One that says that there is no handle now leaves the former in force.
                Some(Repeats::Handle) if handle.is_some() || self.handle.is_none() => {
                    self.handle = Some((observation, handle.take()));
                    for words in std::mem::take(&mut self.after) {
                        join(&mut self.before, words);
                    }
                }
                Some(Repeats::Handle) => {}
                Some(Repeats::Usage) => self.usage = Some(observation),
                Some(Repeats::Words(more)) => {
                    self.bytes = self.bytes.saturating_add(more);
                    let behind = self.handle.is_some();
                    join(
                        if behind {
                            &mut self.after
                        } else {
                            &mut self.before
                        },
                        observation,
                    );
                }
                None => {}
            }
        }
    }

    /// The time by which something that is held back goes on record.
    pub(in crate::engine) fn due(&self) -> Option<Timestamp> {
        let (_, at) = self.last?;
        let has_words = !self.before.is_empty() || !self.after.is_empty();
        let interval = if has_words {
            WORDS_INTERVAL
        } else {
            UPDATE_INTERVAL
        };
        (!self.is_empty()).then(|| at.after(interval))
    }

    /// Takes what is held back, in its order.
    pub(in crate::engine) fn take(&mut self) -> (Vec<Observation>, Option<ResumptionHandle>) {
        let mut batch = std::mem::take(&mut self.before);
        let mut kept = None;
        if let Some((update, handle)) = self.handle.take() {
            batch.push(update);
            kept = handle;
        }
        batch.append(&mut self.after);
        batch.extend(self.usage.take());
        self.bytes = 0;
        self.timer = None;
        (batch, kept)
    }
}
