//! What a durable append costs, as a ratio to one synced write of the same bytes in the same run.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

use std::fs::File;
use std::os::unix::fs::FileExt;

use criterion::{Criterion, criterion_group, criterion_main};
use recount::journal::{Actor, Append, DiskJournal, Draft, Hash, Journal, Line, block_on};
use uuid::Uuid;

/// A typical batch: four records of about 350 bytes.
fn batch(session: Uuid, mut seq: u64, mut prev: Hash) -> Vec<Line> {
    let body = format!(r#"{{"call":5,"text":"{}"}}"#, "x".repeat(100));
    let mut lines = Vec::with_capacity(4);
    for _ in 0..4 {
        seq += 1;
        let actor = Actor::new("engine");
        let draft = Draft {
            session,
            seq,
            at_us: 1_767_225_600_000_000,
            kind: "call_started",
            cause: None,
            actor,
            body: &body,
            prev,
        };
        let line = draft.line();
        prev = line.leaf();
        lines.push(line);
    }
    lines
}

fn append(c: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let mut group = c.benchmark_group("append");

    let session = Uuid::from_u128(7);
    let bytes: Vec<u8> = batch(session, 0, Hash::ZERO)
        .iter()
        .flat_map(|line| line.bytes().to_vec())
        .collect();
    let raw = File::create(directory.path().join("raw")).expect("a file");
    raw.write_all_at(&vec![0; 256 << 20], 0).expect("room");
    raw.sync_all().expect("a sync");
    let mut offset = 0;
    group.bench_function("raw fdatasync", |b| {
        b.iter(|| {
            raw.write_all_at(&bytes, offset).expect("a write");
            raw.sync_data().expect("a sync");
            offset = (offset + bytes.len() as u64) % (255 << 20);
        });
    });

    let journal = DiskJournal::open(directory.path().join("journal")).expect("a journal");
    let (mut seq, mut prev) = (0, Hash::ZERO);
    group.bench_function("durable append", |b| {
        b.iter(|| {
            let lines = batch(session, seq, prev);
            let head =
                block_on(journal.append(Append::new(session, seq, lines))).expect("an append");
            (seq, prev) = (head.seq, head.hash);
        });
    });
    group.finish();
}

criterion_group!(benches, append);
criterion_main!(benches);
