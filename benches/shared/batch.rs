//! The typical batch: a call that is received, permitted, ready and started, as four records of 350
//! bytes.

use std::sync::LazyLock;

use recount::journal::{Actor, Append, Draft, Hash, Line};
use uuid::Uuid;

/// The length of one line, in bytes.
pub(crate) const RECORD_BYTES: usize = 350;
/// The number of records in one append.
pub(crate) const BATCH_RECORDS: u64 = 4;

/// The index, kind and actor of each record of a batch.
const KINDS: [(u64, &str, &str); 4] = [
    (0, "function_call_received", "model"),
    (1, "policy_decided", "engine"),
    (2, "call_ready", "engine"),
    (3, "call_started", "engine"),
];

/// The lengths of the four lines without filler and without the digits of seq and cause.
static BARE: LazyLock<[usize; 4]> = LazyLock::new(|| {
    KINDS.map(|kind| {
        let line = line(Uuid::nil(), 1, kind, 0, Hash::ZERO);
        line.bytes().len() - digits(1, kind.0)
    })
});

/// One session that grows batch by batch.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) session: Uuid,
    seq: u64,
    prev: Hash,
}

impl Stream {
    /// The session with this number. Ids are UUIDv7, in the order of the numbers, a second apart.
    pub(crate) fn new(number: u64) -> Self {
        let at_ms = u128::from(1_767_225_600_000 + 1_000 * number);
        let mixed = u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let tail = (mixed >> 52 << 64) | (2 << 62) | (mixed & ((1 << 62) - 1));
        Self {
            session: Uuid::from_u128((at_ms << 80) | (7 << 76) | tail),
            seq: 0,
            prev: Hash::ZERO,
        }
    }

    /// The next batch, chained to the one before.
    pub(crate) fn next_append(&mut self) -> Append {
        let (expected, first) = (self.seq, self.seq + 1);
        let mut lines = Vec::with_capacity(KINDS.len());
        for (kind, bare) in KINDS.into_iter().zip(*BARE) {
            let filler = RECORD_BYTES - bare - digits(first, kind.0);
            let line = line(self.session, first, kind, filler, self.prev);
            self.prev = line.leaf();
            lines.push(line);
        }
        self.seq += BATCH_RECORDS;
        Append::new(self.session, expected, lines)
    }
}

/// The number of digits of seq and cause.
fn digits(first: u64, place: u64) -> usize {
    let digits = |seq: u64| seq.ilog10() as usize + 1;
    digits(first + place) + if place > 0 { digits(first) } else { 0 }
}

fn line(
    session: Uuid,
    first: u64,
    (place, kind, actor): (u64, &str, &'static str),
    filler: usize,
    prev: Hash,
) -> Line {
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(filler));
    let at_us = 1_767_225_600_000_000 + i64::try_from(first).unwrap_or(i64::MAX);
    let draft = Draft {
        session,
        seq: first + place,
        at_us,
        kind,
        cause: (place > 0).then_some(first),
        actor: Actor::new(actor),
        body: &body,
        prev,
    };
    draft.line()
}

/// Checks that each line is a valid record of the intended length, because a bench of wrong work
/// measures nothing.
pub(crate) fn check() {
    let mut stream = Stream::new(3);
    for _ in 0..300 {
        for line in stream.next_append().lines {
            assert_eq!(line.bytes().len(), RECORD_BYTES, "{line:?}");
            assert!(line.record().is_ok(), "{line:?}");
        }
    }
}
