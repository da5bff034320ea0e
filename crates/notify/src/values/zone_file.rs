//! The zones of the system's time zone database, as RFC 9636 (TZif) describes its files.

use std::fs;
use std::path::{Path, PathBuf};

use super::zone_rule::Rule;

/// The directories of the database, after the one in the variable `TZDIR`.
const DIRECTORIES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// The maximum length of a file, in bytes. Those of the database have up to 4,000.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The length of the header of a block, in bytes.
const HEADER_BYTES: usize = 44;

/// The offsets of a zone over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ZoneFile {
    /// The offset before the first change, in seconds east of UTC.
    first: i32,
    /// The changes: the second since 1970, and the offset from then on.
    changes: Vec<(i64, i32)>,
    /// The rule after the last change.
    rule: Option<Rule>,
}

/// The counts in the header of a block.
struct Header {
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
    /// The numbers of indicators, whose length is their number.
    indicators: usize,
}

impl ZoneFile {
    /// Reads a zone such as `Europe/Berlin`. `None` if the database has no such zone.
    pub(super) fn named(name: &str) -> Option<ZoneFile> {
        let is_part = |part: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
            !part.is_empty() && part.chars().all(is_plain)
        };
        if !name.split('/').all(is_part) {
            return None;
        }
        let own = std::env::var_os("TZDIR").map(PathBuf::from);
        let usual = DIRECTORIES.iter().map(PathBuf::from);
        let mut files = own.into_iter().chain(usual).map(|it| it.join(name));
        files.find_map(|it| ZoneFile::at(&it))
    }

    fn at(path: &Path) -> Option<ZoneFile> {
        let bytes = fs::read(path).ok()?;
        ZoneFile::parse(&bytes).filter(|_| bytes.len() <= FILE_BYTES_MAX)
    }

    /// Reads the bytes of a file of version 2 or later. The first block, which has 32 bits for each
    /// time, is skipped.
    fn parse(bytes: &[u8]) -> Option<ZoneFile> {
        let first = Header::read(bytes)?;
        let bytes = bytes.get(HEADER_BYTES + first.block_bytes(4)..)?;
        let header = Header::read(bytes)?;
        let block = bytes.get(HEADER_BYTES..)?;
        let (times, rest) = block.split_at_checked(header.times.checked_mul(8)?)?;
        let (indexes, rest) = rest.split_at_checked(header.times)?;
        let (types, _) = rest.split_at_checked(header.types.checked_mul(6)?)?;
        let offset = |index: usize| {
            let entry = types.get(index.checked_mul(6)?..)?.first_chunk::<4>()?;
            Some(i32::from_be_bytes(*entry)).filter(|it| it.abs() < 26 * 3_600)
        };
        let changes = times.chunks_exact(8).zip(indexes).map(|(time, index)| {
            let time = i64::from_be_bytes(*time.first_chunk::<8>()?);
            Some((time, offset(usize::from(*index))?))
        });
        let footer = block.get(header.block_bytes(8)..)?;
        let footer = std::str::from_utf8(footer).ok()?;
        let footer = footer.strip_prefix('\n')?.split('\n').next()?;
        Some(ZoneFile {
            first: offset(0)?,
            changes: changes.collect::<Option<_>>()?,
            rule: match footer {
                "" => None,
                footer => Some(Rule::parse(footer)?),
            },
        })
    }

    /// The offset at a second since 1970, in seconds east of UTC.
    pub(super) fn offset_at(&self, second: i64) -> i32 {
        let behind = self.changes.partition_point(|(at, _)| *at <= second);
        let last = behind.checked_sub(1).and_then(|it| self.changes.get(it));
        match (&self.rule, last) {
            (Some(rule), _) if behind == self.changes.len() => rule.offset_at(second),
            (_, Some((_, offset))) => *offset,
            (_, None) => self.first,
        }
    }
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let header = bytes.get(..HEADER_BYTES)?;
        let is_later = *header.get(4)? >= b'2';
        if !header.starts_with(b"TZif") || !is_later {
            return None;
        }
        let count = |at: usize| {
            let number = header.get(at..)?.first_chunk::<4>()?;
            usize::try_from(u32::from_be_bytes(*number))
                .ok()
                .filter(|it| *it < 1 << 16)
        };
        Some(Header {
            indicators: count(20)? + count(24)?,
            leaps: count(28)?,
            times: count(32)?,
            types: count(36)?,
            chars: count(40)?,
        })
    }

    /// The length of the block after the header, in bytes.
    fn block_bytes(&self, time_bytes: usize) -> usize {
        self.times * (time_bytes + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (time_bytes + 4)
            + self.indicators
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with these changes of types 0 (UTC+1) and 1 (UTC+2).
    fn block(changes: &[(i64, u8)], time_bytes: usize) -> Vec<u8> {
        let mut bytes = b"TZif2".to_vec();
        bytes.resize(20, 0);
        let times = u32::try_from(changes.len()).unwrap();
        for count in [0, 0, 0, times, 2, 8] {
            bytes.extend(u32::to_be_bytes(count));
        }
        for (time, _) in changes {
            bytes.extend(&time.to_be_bytes()[8 - time_bytes..]);
        }
        bytes.extend(changes.iter().map(|(_, index)| index));
        for (offset, dst) in [(3_600_i32, 0), (7_200, 1)] {
            bytes.extend(offset.to_be_bytes());
            bytes.extend([dst, 0]);
        }
        bytes.extend(b"CET\0CES\0");
        bytes
    }

    fn file(footer: &str) -> Vec<u8> {
        let changes = [(1_000, 1), (2_000, 0)];
        let mut bytes = block(&changes, 4);
        bytes.extend(block(&changes, 8));
        bytes.extend(format!("\n{footer}\n").bytes());
        bytes
    }

    #[test]
    fn offset_is_that_of_the_last_change() {
        let zone = ZoneFile::parse(&file("")).unwrap();
        for (second, offset) in [(999, 3_600), (1_000, 7_200), (1_999, 7_200), (2_000, 3_600)] {
            assert_eq!(zone.offset_at(second), offset, "{second}");
        }
        assert_eq!(zone.offset_at(i64::MAX), 3_600);
    }

    #[test]
    fn rule_holds_after_the_last_change() {
        let zone = ZoneFile::parse(&file("CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
        // 2026-07-01.
        assert_eq!(zone.offset_at(1_782_864_000), 7_200);
        assert_eq!(zone.offset_at(1_500), 7_200);
        assert_eq!(zone.offset_at(0), 3_600);
    }

    #[test]
    fn damaged_files_are_no_zones() {
        let whole = file("CET-1");
        assert!(ZoneFile::parse(&whole).is_some());
        for end in 0..whole.len() - "CET-1\n".len() {
            assert_eq!(ZoneFile::parse(&whole[..end]), None, "{end}");
        }
        assert_eq!(ZoneFile::parse(&file("what?")), None);
    }

    #[test]
    fn names_do_not_leave_the_database() {
        for name in [
            "",
            "/etc/passwd",
            "../../etc/passwd",
            "Europe//Berlin",
            "a b",
            ".",
        ] {
            assert_eq!(ZoneFile::named(name), None, "{name}");
        }
    }
}
