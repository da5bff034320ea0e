//! The report of a repair.

use std::fmt;

use uuid::Uuid;

use crate::Hash;

/// The findings and actions of a repair; for a dry run, its planned actions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Repaired {
    /// The damage of the log and the marker. Without damage, nothing was changed.
    pub damages: Vec<Damage>,
    /// The number of surviving records, including the system stream, without the record of this
    /// repair.
    pub records: u64,
    /// The number of surviving sessions, without the system stream.
    pub sessions: u64,
    /// True if every frame has the bytes that were once written.
    pub identical: bool,
    /// The number of frames that only the index still had complete.
    pub frames_from_index: u64,
    /// The sessions that lost records, and the system stream if it is one of them.
    pub hurt: Vec<Hurt>,
    /// The number of frames that are lost, completely or partly, with records that are no longer
    /// known.
    pub frames_unnamed: u64,
    /// The objects that are lost. The objects of lost records are known only with an index.
    pub objects_lost: Vec<Hash>,
    /// The number of bytes at the end of the log that are either an unacknowledged write or
    /// unrecognisable damage.
    pub cut_bytes: u64,
    /// True if the surviving log ends with the record of a close. If not, and if the index is lost
    /// as well, nothing proves that the log is complete.
    pub was_closed: bool,
    /// The file in the journal's directory with the records after gaps, as their exact lines.
    pub salvage: Option<String>,
    /// The new name of the old log.
    pub damaged_log: Option<String>,
    /// True if a dry run found an interrupted repair that was already decided. Nothing else is
    /// reported then, because the content is known only after it is finished.
    pub unfinished: bool,
    /// Remarks that are no damage of the log.
    pub notes: Vec<String>,
}

impl Repaired {
    /// True if there was anything to repair.
    pub fn was_needed(&self) -> bool {
        self.unfinished || !self.damages.is_empty()
    }

    /// True if something is lost, or only salvaged.
    pub fn lost_something(&self) -> bool {
        let gone = self.damages.iter().any(|it| it.remedy == Remedy::Lost);
        gone || !self.hurt.is_empty() || self.frames_unnamed > 0 || !self.objects_lost.is_empty()
    }

    /// The number of records in the salvage file.
    pub fn records_salvaged(&self) -> u64 {
        self.hurt.iter().map(|hurt| total(&hurt.salvaged)).sum()
    }

    /// The number of records that are known to be lost.
    pub fn records_lost(&self) -> u64 {
        self.hurt.iter().map(|hurt| total(&hurt.lost)).sum()
    }
}

/// A stream that lost records.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hurt {
    /// The stream; nil for the system stream.
    pub session: Uuid,
    /// The seq of its last surviving record; 0 if none survived.
    pub recovered: u64,
    /// The complete records after a gap, or of another history, as ranges from and to. They are in
    /// the salvage file.
    pub salvaged: Vec<(u64, u64)>,
    /// The lost records, as ranges from and to, as far as they are known.
    pub lost: Vec<(u64, u64)>,
}

/// A fault, and its remedy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// The frames at fault, as a range from and to, if known.
    pub frames: Option<(u64, u64)>,
    /// The fault, and its place.
    pub what: String,
    /// The remedy.
    pub remedy: Remedy,
}

/// The remedy of a fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Remedy {
    /// The complete frames were taken from the index.
    Index,
    /// The given number of appends of the frames, which have valid checksums, were taken.
    Appends(u64),
    /// A part that follows from the rest was written again.
    Rewritten,
    /// The part was left in the old log.
    SetAside,
    /// The part was removed: it cannot be read, and nothing else contains its information.
    Removed,
    /// The frames are lost completely.
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

/// Groups ascending seqs into ranges from and to.
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
