//! What a repair found and did.

use std::fmt;

use uuid::Uuid;

use crate::Hash;

/// What a repair found, and what it did; from a dry run, what it would do.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Repaired {
    /// Everything that was wrong with the log and the marker. Empty when there was nothing to
    /// repair, and then nothing was changed.
    pub damages: Vec<Damage>,
    /// The records that live on, those of the system stream too, without the one that tells of this
    /// repair.
    pub records: u64,
    /// The sessions that live on, without the system stream.
    pub sessions: u64,
    /// True if every frame is, byte for byte, what was written once.
    pub identical: bool,
    /// Frames that only the index still had whole.
    pub frames_from_index: u64,
    /// The sessions that do not have all their records any more, and the system stream if it is one
    /// of them.
    pub hurt: Vec<Hurt>,
    /// Frames that are gone, wholly or partly, with records that nothing names any more.
    pub frames_unnamed: u64,
    /// Objects that were there and are lost. Those of lost records are known only where the index
    /// is.
    pub objects_lost: Vec<Hash>,
    /// Bytes at the end of the log that are either of a write that was never acknowledged, or
    /// damaged beyond telling.
    pub cut_bytes: u64,
    /// True if what lives on ends with the record of a close. If not, and the index is gone too,
    /// nothing vouches that the log ends where it ended.
    pub was_closed: bool,
    /// The file in the journal's directory that has the records behind gaps, as their exact lines.
    pub salvage: Option<String>,
    /// The name that the old log has now.
    pub damaged_log: Option<String>,
    /// True if a dry run met a repair that was cut short after it was decided. Nothing else is
    /// reported then: what the journal holds is known once that is finished.
    pub unfinished: bool,
    /// What is worth knowing and no damage to the log.
    pub notes: Vec<String>,
}

impl Repaired {
    /// True if there was anything to repair.
    pub fn was_needed(&self) -> bool {
        self.unfinished || !self.damages.is_empty()
    }

    /// True if something does not live on: is lost, or only salvaged.
    pub fn lost_something(&self) -> bool {
        let gone = self.damages.iter().any(|it| it.remedy == Remedy::Lost);
        gone || !self.hurt.is_empty() || self.frames_unnamed > 0 || !self.objects_lost.is_empty()
    }

    /// How many records are in the salvage file.
    pub fn records_salvaged(&self) -> u64 {
        self.hurt.iter().map(|hurt| total(&hurt.salvaged)).sum()
    }

    /// How many records are known to be lost.
    pub fn records_lost(&self) -> u64 {
        self.hurt.iter().map(|hurt| total(&hurt.lost)).sum()
    }
}

/// A stream that does not have all its records any more.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hurt {
    /// The stream; nil for the system stream.
    pub session: Uuid,
    /// It lives on with its records up to this one; 0 when none is left.
    pub recovered: u64,
    /// Records that are whole but stand behind a gap, or are of another history, from and to. They
    /// are in the salvage file.
    pub salvaged: Vec<(u64, u64)>,
    /// Records that are gone, from and to, as far as anything still knows of them.
    pub lost: Vec<(u64, u64)>,
}

/// Something that was wrong, and what became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// The frames it concerns, from and to, where that can be told.
    pub frames: Option<(u64, u64)>,
    /// What was wrong, and where.
    pub what: String,
    /// What came of it.
    pub remedy: Remedy,
}

/// What came of a damage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Remedy {
    /// The index had the frames whole.
    Index,
    /// So many appends of the frames hold their checksums and were taken.
    Appends(u64),
    /// What holds nothing but what follows from the rest was written anew.
    Rewritten,
    /// It was left where it is, in the old log.
    SetAside,
    /// It was taken away: what it says cannot be read, and nothing else says it.
    Removed,
    /// Nothing of the frames is left.
    Lost,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("restored from the index"),
            Self::Appends(1) => f.write_str("1 append of it taken"),
            Self::Appends(count) => write!(f, "{count} appends of it taken"),
            Self::Rewritten => f.write_str("written anew"),
            Self::SetAside => f.write_str("set aside with the old log"),
            Self::Removed => f.write_str("removed"),
            Self::Lost => f.write_str("lost"),
        }
    }
}

/// Seqs in order as ranges from and to.
pub(super) fn ranges(seqs: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for seq in seqs {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == seq => *last = seq,
            Some(_) | None => ranges.push((seq, seq)),
        }
    }
    ranges
}

fn total(ranges: &[(u64, u64)]) -> u64 {
    let length = |(from, to): &(u64, u64)| (to - from).saturating_add(1);
    ranges.iter().map(length).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_make_a_range() {
        assert_eq!(ranges([1, 2, 3, 5, 8, 9]), [(1, 3), (5, 5), (8, 9)]);
        assert_eq!(total(&ranges([1, 2, 3, 5, 8, 9])), 6);
    }
}
