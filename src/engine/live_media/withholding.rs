//! Keeping live input from a model that waits for the response to a call.
//!
//! Some models end the connection, or fall silent, where input comes in while they wait. So an
//! agent may have it withheld from the moment the call is read off the socket until its response is
//! written to it, or nobody waits for one any more. Audio and pictures of that time are dropped and
//! counted, because late they would be noise. Words are kept and said afterwards. What the model
//! has begun to hear may end: the end of an activity is never withheld, and that of a stream of
//! audio, which is input like the audio, is told as soon as input is heard again, before whatever
//! comes next.
//!
//! ```text
//! heard ── a call is read ──▶ withheld ── response written, taken back, connection gone ──▶ heard
//! ```

use super::piece::Piece;
use crate::live::wire::{CallRead, PartsRead};

/// What of the user's live input reaches the model on one connection.
#[derive(Debug, Default)]
pub(super) struct Withholding {
    /// A call of the session keeps the model waiting.
    pub(in crate::engine) waits: bool,
    /// How many messages of the connection were handed to the session, and how many of them it has
    /// come to.
    handed: u64,
    reached: u64,
    /// The last of them that brought a call, which the session may not have come to.
    call_at: u64,
    pub(in crate::engine) activity: Activity,
    /// True if the model has heard audio that goes on.
    streams: bool,
    /// The audio that the model has heard ended while input was withheld; it is told once input is
    /// heard again.
    end_waits: bool,
}

/// An activity of the user, where the program marks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) enum Activity {
    /// There is none.
    #[default]
    None,
    /// The model was told that it began.
    Told,
    /// It began while input was withheld; the model is told with the first piece that goes.
    Untold,
}

/// What becomes of a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Passage {
    /// It goes to the model.
    Goes,
    /// It goes after the start of its activity.
    AfterStart,
    /// The end of the audio before goes first; what becomes of the piece is asked again.
    AfterEnd,
    /// It is dropped.
    Withheld,
}

impl Withholding {
    /// True if input is withheld now.
    pub(in crate::engine) fn is_on(&self) -> bool {
        self.waits || self.call_at > self.reached
    }

    /// True if the end of what the model has heard waits to be told.
    pub(super) fn has_end_waiting(&self) -> bool {
        self.end_waits
    }

    /// The session says whether a call keeps the model waiting.
    pub(in crate::engine) fn note(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// A message is handed to the session, which may come to it late.
    pub(in crate::engine) fn handed_on(&mut self, brings_call: bool) {
        self.handed += 1;
        if brings_call {
            self.call_at = self.handed;
        }
    }

    /// The session has come to the next message.
    pub(in crate::engine) fn reached(&mut self) {
        self.reached += 1;
    }

    /// What becomes of a piece that is about to leave.
    pub(in crate::engine) fn pass(&mut self, piece: &Piece) -> Passage {
        let on = self.is_on();
        if !on && std::mem::take(&mut self.end_waits) {
            return match piece {
                Piece::AudioStreamEnd | Piece::HeardAgain => Passage::Goes,
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
            Piece::HeardAgain => Passage::Withheld,
        }
    }
}

/// True if a message brings a call of a function that is none of `non_blocking`.
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

    /// What happens on a connection: calls come and are settled, and the user speaks.
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
            _ => Piece::HeardAgain,
        }
    }

    #[derive(Default)]
    struct Model {
        hears_activity: bool,
        hears_audio: bool,
        /// The user has ended the audio that it hears, and it does not know.
        is_over: bool,
    }

    impl Model {
        /// Takes a piece; whether it came at a time when it may.
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
            let ends = matches!(piece, Piece::AudioStreamEnd | Piece::HeardAgain);
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
                Piece::AudioStreamEnd | Piece::HeardAgain => {
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
        fn nothing_goes_while_a_call_waits_and_everything_once_none_does(
            story in prop::collection::vec(happens(), 0..60)
        ) {
            let (mut withholding, mut model) = (Withholding::default(), Model::default());
            // What the session has not come to, and whether a call that it has come to waits.
            let (mut queue, mut waits) = (std::collections::VecDeque::new(), false);
            let finale = [Happens::Settled, Happens::Says(5), Happens::Says(0)];
            for step in story.into_iter().chain(finale) {
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
                        prop_assert!(!ends_told || passage == Passage::Goes, "the end was withheld");
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
    fn audio_that_ended_meanwhile_ends_once_before_whatever_comes_next() {
        let mut withholding = Withholding::default();
        assert_eq!(withholding.pass(&piece(0)), Passage::Goes);
        withholding.note(true);
        for withheld in [Piece::AudioStreamEnd, piece(0), Piece::AudioStreamEnd] {
            assert_eq!(withholding.pass(&withheld), Passage::Withheld);
        }
        assert!(withholding.has_end_waiting());
        assert_eq!(withholding.pass(&Piece::HeardAgain), Passage::Withheld);
        withholding.note(false);
        let mut promptly = Withholding { ..withholding };
        assert_eq!(withholding.pass(&piece(0)), Passage::AfterEnd);
        assert_eq!(withholding.pass(&piece(0)), Passage::Goes);
        assert_eq!(withholding.pass(&Piece::HeardAgain), Passage::Withheld);
        assert_eq!(promptly.pass(&Piece::HeardAgain), Passage::Goes);
        assert_eq!(promptly.pass(&piece(0)), Passage::Goes);
    }

    #[test]
    fn an_activity_that_began_meanwhile_begins_with_the_first_piece_that_goes() {
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
    fn only_a_call_for_which_the_model_waits_counts() {
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
