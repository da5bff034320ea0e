//! Withholding of live input while the model waits for the response to a call.
//!
//! Some models close the connection or stop answering if they get input while they wait. So an
//! agent may withhold it. That begins when a call is read off the socket. It ends when the response
//! is written or no longer needed.
//!
//! Audio and pictures of that time are dropped and counted, because late media is noise. Text is
//! queued and sent afterwards. What the model has begun to receive may end: the end of an activity
//! is never withheld. The end of an audio stream is input like the audio; it is sent as soon as
//! input resumes, before anything else.
//!
//! ```text
//! sent ── a call is read ──▶ withheld ── response written, call cancelled, link ended ──▶ sent
//! ```

use super::piece::Piece;
use crate::live::wire::{CallRead, PartsRead};

/// The state that decides which live input reaches the model on one connection.
#[derive(Debug, Default)]
pub(super) struct Withholding {
    /// True if a call of the session makes the model wait.
    pub(in crate::engine) waits: bool,
    /// The number of messages queued for the session, followed by the number it has handled.
    handed: u64,
    reached: u64,
    /// The last message with a call, which the session may not have handled yet.
    call_at: u64,
    pub(in crate::engine) activity: Activity,
    /// True if the model is receiving an audio stream.
    streams: bool,
    /// True if that audio stream ended while input was withheld. The end is sent once input
    /// resumes.
    end_waits: bool,
}

/// An activity of the user, if the program marks activities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) enum Activity {
    /// No activity.
    #[default]
    None,
    /// The model knows that it began.
    Told,
    /// It began while input was withheld. The model learns it with the first piece that is sent.
    Untold,
}

/// The decision on a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Passage {
    /// It is sent to the model.
    Goes,
    /// It is sent after the start of its activity.
    AfterStart,
    /// The end of the earlier audio is sent first; then the piece is passed again.
    AfterEnd,
    /// It is dropped.
    Withheld,
}

impl Withholding {
    /// True if input is withheld now.
    pub(in crate::engine) fn is_on(&self) -> bool {
        self.waits || self.call_at > self.reached
    }

    /// True if the end of an audio stream waits to be sent.
    pub(super) fn has_end_waiting(&self) -> bool {
        self.end_waits
    }

    /// Notes whether a call makes the model wait.
    pub(in crate::engine) fn note(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Notes that a message was queued for the session, which may handle it late.
    pub(in crate::engine) fn handed_on(&mut self, brings_call: bool) {
        self.handed += 1;
        if brings_call {
            self.call_at = self.handed;
        }
    }

    /// Notes that the session has handled the next message.
    pub(in crate::engine) fn reached(&mut self) {
        self.reached += 1;
    }

    /// Decides what happens to the next piece.
    pub(in crate::engine) fn pass(&mut self, piece: &Piece) -> Passage {
        let on = self.is_on();
        if !on && std::mem::take(&mut self.end_waits) {
            return match piece {
                Piece::AudioStreamEnd | Piece::InputResumes => Passage::Goes,
                Piece::Audio(..) | Piece::Video(..) | Piece::ActivityStart | Piece::ActivityEnd => {
                    Passage::AfterEnd
                }
            };
        }
        match piece {
            Piece::Audio(..) | Piece::Video(..) if on => Passage::Withheld,
            Piece::Audio(..) | Piece::Video(..) => {
                self.streams |= matches!(piece, Piece::Audio(..));
                match self.activity {
                    Activity::Untold => {
                        self.activity = Activity::Told;
                        Passage::AfterStart
                    }
                    Activity::None | Activity::Told => Passage::Goes,
                }
            }
            Piece::ActivityStart if on => {
                if self.activity == Activity::None {
                    self.activity = Activity::Untold;
                }
                Passage::Withheld
            }
            Piece::ActivityStart => {
                self.activity = Activity::Told;
                Passage::Goes
            }
            Piece::ActivityEnd => match std::mem::take(&mut self.activity) {
                Activity::Told => Passage::Goes,
                Activity::Untold => Passage::Withheld,
                Activity::None if on => Passage::Withheld,
                Activity::None => Passage::Goes,
            },
            Piece::AudioStreamEnd if on => {
                self.end_waits |= std::mem::take(&mut self.streams);
                Passage::Withheld
            }
            Piece::AudioStreamEnd => {
                self.streams = false;
                Passage::Goes
            }
            Piece::InputResumes => Passage::Withheld,
        }
    }
}

/// True if a message calls a function that is not in `non_blocking`.
pub(super) fn brings_call(frame: &str, depth_max: usize, non_blocking: &[String]) -> bool {
    let marked = ["\"toolCall\"", "\"tool_call\""];
    if !marked.iter().any(|it| frame.contains(it)) {
        return false;
    }
    let parts = PartsRead::decode_within(frame, depth_max).ok();
    parts.is_some_and(|it| {
        it.calls.iter().any(|call| match call {
            CallRead::Call(call) | CallRead::Malformed(call, _) => {
                let name = call.name.as_ref();
                name.is_none_or(|name| !non_blocking.contains(name))
            }
            CallRead::Unreadable { .. } => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A step on a connection: a call is received or settled, or the user sends input.
    #[derive(Clone, Copy, Debug)]
    enum Happens {
        CallHanded,
        OtherHanded,
        Reached { waits: bool },
        Settled,
        Says(u8),
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            Just(Happens::CallHanded),
            Just(Happens::OtherHanded),
            any::<bool>().prop_map(|waits| Happens::Reached { waits }),
            Just(Happens::Settled),
            (0..6_u8).prop_map(Happens::Says),
            (0..6_u8).prop_map(Happens::Says),
        ]
    }

    fn piece(which: u8) -> Piece {
        match which {
            0 => Piece::Audio(String::new(), [].into()),
            1 => Piece::Video(String::new(), [].into()),
            2 => Piece::ActivityStart,
            3 => Piece::ActivityEnd,
            4 => Piece::AudioStreamEnd,
            _ => Piece::InputResumes,
        }
    }

    #[derive(Default)]
    struct Model {
        hears_activity: bool,
        hears_audio: bool,
        /// True if the user ended the audio and the model does not know it.
        is_over: bool,
    }

    impl Model {
        /// Receives a piece, and asserts that it may come now.
        fn takes(&mut self, piece: &Piece, passage: Passage, withheld: bool) {
            match passage {
                Passage::Withheld => {
                    let ends = matches!(piece, Piece::AudioStreamEnd);
                    self.is_over |= ends && self.hears_audio;
                    return;
                }
                Passage::AfterEnd => {
                    return self.takes(&Piece::AudioStreamEnd, Passage::Goes, withheld);
                }
                Passage::AfterStart => {
                    assert!(!self.hears_activity, "an activity began twice");
                    self.hears_activity = true;
                }
                Passage::Goes => {}
            }
            let ends = matches!(piece, Piece::AudioStreamEnd | Piece::InputResumes);
            assert!(
                ends || withheld || !self.is_over,
                "something went before the end of the audio"
            );
            match piece {
                Piece::Audio(..) | Piece::Video(..) | Piece::ActivityStart => {
                    assert!(!withheld, "input went to a model that waits");
                    self.hears_activity |= matches!(piece, Piece::ActivityStart);
                    self.hears_audio |= matches!(piece, Piece::Audio(..));
                }
                Piece::ActivityEnd => {
                    assert!(self.hears_activity || !withheld, "an end without a start");
                    self.hears_activity = false;
                }
                Piece::AudioStreamEnd | Piece::InputResumes => {
                    assert!(!withheld, "an end went to a model that waits");
                    let called_for = self.is_over || matches!(piece, Piece::AudioStreamEnd);
                    assert!(called_for, "an end of what goes on");
                    (self.hears_audio, self.is_over) = (false, false);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn input_is_sent_only_while_no_call_waits(
            steps in prop::collection::vec(happens(), 0..60)
        ) {
            let (mut withholding, mut model) = (Withholding::default(), Model::default());
            // The messages that the session has not handled, and whether a handled call waits.
            let (mut queue, mut waits) = (std::collections::VecDeque::new(), false);
            let finale = [Happens::Settled, Happens::Says(5), Happens::Says(0)];
            for step in steps.into_iter().chain(finale) {
                match step {
                    Happens::CallHanded | Happens::OtherHanded => {
                        let brings_call = matches!(step, Happens::CallHanded);
                        queue.push_back(brings_call);
                        withholding.handed_on(brings_call);
                    }
                    Happens::Reached { waits: still } => {
                        if let Some(brings_call) = queue.pop_front() {
                            waits = still && (waits || brings_call);
                            withholding.note(waits);
                            withholding.reached();
                        }
                    }
                    Happens::Settled => {
                        for _ in queue.drain(..) {
                            withholding.reached();
                        }
                        waits = false;
                        withholding.note(false);
                    }
                    Happens::Says(which) => {
                        let withheld = waits || queue.contains(&true);
                        prop_assert_eq!(withholding.is_on(), withheld);
                        let piece = piece(which);
                        let ends_told = matches!(piece, Piece::ActivityEnd) && model.hears_activity;
                        let mut passage = withholding.pass(&piece);
                        if passage == Passage::AfterEnd {
                            prop_assert!(model.is_over);
                            model.takes(&piece, passage, withheld);
                            passage = withholding.pass(&piece);
                        }
                        prop_assert_ne!(passage, Passage::AfterEnd);
                        let is_end_sent = !ends_told || passage == Passage::Goes;
                        prop_assert!(is_end_sent, "the end was withheld");
                        let media = matches!(piece, Piece::Audio(..) | Piece::Video(..));
                        prop_assert!(!media || withheld == (passage == Passage::Withheld));
                        model.takes(&piece, passage, withheld);
                    }
                }
            }
            prop_assert!(!withholding.is_on() && !model.is_over);
        }
    }

    #[test]
    fn withheld_audio_end_is_sent_once_and_first() {
        let mut withholding = Withholding::default();
        assert_eq!(withholding.pass(&piece(0)), Passage::Goes);
        withholding.note(true);
        for withheld in [Piece::AudioStreamEnd, piece(0), Piece::AudioStreamEnd] {
            assert_eq!(withholding.pass(&withheld), Passage::Withheld);
        }
        assert!(withholding.has_end_waiting());
        assert_eq!(withholding.pass(&Piece::InputResumes), Passage::Withheld);
        withholding.note(false);
        let mut promptly = Withholding { ..withholding };
        assert_eq!(withholding.pass(&piece(0)), Passage::AfterEnd);
        assert_eq!(withholding.pass(&piece(0)), Passage::Goes);
        assert_eq!(withholding.pass(&Piece::InputResumes), Passage::Withheld);
        assert_eq!(promptly.pass(&Piece::InputResumes), Passage::Goes);
        assert_eq!(promptly.pass(&piece(0)), Passage::Goes);
    }

    #[test]
    fn withheld_activity_starts_with_first_sent_piece() {
        let mut withholding = Withholding::default();
        withholding.note(true);
        assert_eq!(withholding.pass(&Piece::ActivityStart), Passage::Withheld);
        assert_eq!(withholding.pass(&piece(0)), Passage::Withheld);
        withholding.note(false);
        assert_eq!(withholding.pass(&piece(0)), Passage::AfterStart);
        assert_eq!(withholding.pass(&piece(0)), Passage::Goes);
        assert_eq!(withholding.pass(&Piece::ActivityEnd), Passage::Goes);
    }

    #[test]
    fn only_blocking_call_withholds_input() {
        let non_blocking = ["search".to_owned()];
        let call = |name: &str| {
            format!(r#"{{"toolCall":{{"functionCalls":[{{"id":"c","name":"{name}"}}]}}}}"#)
        };
        assert!(brings_call(&call("pay"), 64, &non_blocking));
        assert!(!brings_call(&call("search"), 64, &non_blocking));
        let trace = r#"{"serverContent":{"modelTurn":{"parts":[{"toolCall":{"id":"t"}}]}}}"#;
        assert!(!brings_call(trace, 64, &non_blocking));
        let taken_back = r#"{"toolCallCancellation":{"ids":["c"]}}"#;
        assert!(!brings_call(taken_back, 64, &non_blocking));
    }
}
