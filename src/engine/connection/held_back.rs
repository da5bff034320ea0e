//! Messages that a service repeats: of a series, only the newest or one joined message is recorded.
//!
//! | message | held back | recorded |
//! |---|---|---|
//! | handle update | after another one | the newest, after ten seconds |
//! | usage | after 256 messages of a series | the newest, after ten seconds |
//! | text of a transcript or of the model | after 256 messages of a series | joined, after a second or 4 KiB |
//!
//! A series is messages of these kinds with no other record between them. Held-back messages are
//! recorded before any other record, so they never follow a later one.

use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use crate::session::{Observation, ResumptionHandle, Seq, Timestamp};

/// The minimum time between two recorded handle updates. After a crash, the recorded handle may
/// lack this much of the conversation's media.
const UPDATE_INTERVAL: Duration = Duration::from_secs(10);

/// The maximum time for which text is held back. A crash may lose this much of it.
const WORDS_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum amount of held-back text, in bytes.
const WORDS_BYTES_MAX: usize = 4 << 10;

/// The number of messages of a series that are recorded one by one: more than a minute of speech.
const SINGLE_RECORDS_MAX: u32 = 256;

/// The held-back messages.
#[derive(Debug, Default)]
pub(in crate::engine) struct HeldBack {
    /// Text before the handle, which the handle covers, joined by speaker.
    pub(in crate::engine) before: Vec<Observation>,
    pub(in crate::engine) handle: Option<(Observation, Option<ResumptionHandle>)>,
    /// Text after the handle.
    after: Vec<Observation>,
    bytes: usize,
    usage: Option<Observation>,
    /// The last record of the series, and its time.
    pub(in crate::engine) last: Option<(Seq, Timestamp)>,
    /// The number of recorded messages of the series.
    pub(in crate::engine) row: u32,
    /// True if the last of them only updated the handle.
    pub(in crate::engine) is_update: bool,
    pub(in crate::engine) timer: Option<(Timestamp, AbortOnDropHandle<()>)>,
}

/// The kinds of message that come in series.
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

/// Joins text to the held-back text of the same speaker.
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

    /// True if a message may be held back now: it belongs to a series, and nothing held back is
    /// due.
    pub(in crate::engine) fn takes(&self, observations: &[Observation], now: Timestamp) -> bool {
        let Some((_, at)) = self.last else {
            return false;
        };
        let mut bytes = self.bytes;
        let one_by_one = self.row < SINGLE_RECORDS_MAX;
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
                // An update without a handle leaves the previous one in force.
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

    /// Returns the time at which held-back messages must be recorded.
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

    /// Takes the held-back messages, in order.
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
