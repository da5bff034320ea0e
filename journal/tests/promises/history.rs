//! The history of one writer's stream: its appends, and the time of each acknowledgement. It checks
//! whether a reopened journal holds them.

use recount_journal::{Error, Journal, Object, OpenItem, WorkChange, block_on};

use crate::random::Random;
use crate::stream::Stream;

/// A stream with the ends of its appends. Every append settles the open item of the previous one
/// and opens its own.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) stream: Stream,
    ends: Vec<u64>,
    objects: Vec<(u64, Object)>,
    /// Each acknowledged seq, with the time after which that was known.
    kept: Vec<(u64, u64)>,
}

impl History {
    pub(crate) fn new(number: u128) -> Self {
        Self {
            stream: Stream::new(number),
            ends: Vec::new(),
            objects: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The number of acknowledged appends.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.kept.len() as u64
    }

    /// The number of appends that end at or before a seq.
    pub(crate) fn appends_up_to(&self, seq: u64) -> usize {
        self.ends.iter().filter(|end| **end <= seq).count()
    }

    /// The last seq that was acknowledged by a time.
    pub(crate) fn acknowledged_by(&self, moment: u64) -> u64 {
        let known = self.kept.iter().rev().find(|(then, _)| *then <= moment);
        known.map_or(0, |(_, seq)| *seq)
    }

    /// Appends a few records, sometimes a large one or an object. `now` is called after the
    /// acknowledgement.
    pub(crate) fn append(
        &mut self,
        journal: &dyn Journal,
        random: &mut Random,
        now: impl Fn() -> u64,
    ) -> Result<(), Error> {
        let bodies: Vec<String> = (0..=random.below(3))
            .map(|number| {
                let size = match random.below(40) {
                    0 => 9_000,
                    1..6 => 900,
                    _ => 60,
                };
                let text = "z".repeat(random.index(size));
                format!(r#"{{"number":{number},"text":"{text}"}}"#)
            })
            .collect();
        let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
        let before = self.last_item(self.stream.seq());
        let mut append = self.stream.next(&bodies);
        self.ends.push(self.stream.seq());
        if random.below(8) == 0 {
            let bytes = random.number().to_be_bytes().repeat(random.index(900));
            let object = Object::new(bytes);
            self.objects.push((self.stream.seq(), object.clone()));
            append.objects.push(object);
        }
        let session = self.stream.session;
        if let Some(OpenItem { item, .. }) = before {
            append.open_work.push(WorkChange::Remove { session, item });
        }
        let item = self.last_item(self.stream.seq()).unwrap();
        append.open_work.push(WorkChange::Put(item));
        block_on(journal.append(append))?;
        self.kept.push((now(), self.stream.seq()));
        Ok(())
    }

    /// The open item of the stream after the append that ends at `end`.
    fn last_item(&self, end: u64) -> Option<OpenItem> {
        let at = self.ends.iter().position(|known| *known == end)?;
        let before = at.checked_sub(1).map_or(0, |at| self.ends[at]);
        Some(OpenItem {
            session: self.stream.session,
            item: before + 1,
            kind: "call".to_owned(),
            since_us: 0,
            deadline_us: None,
            request: None,
            flags: 0,
        })
    }

    /// Fails unless the journal holds complete appends of this stream, from the first one at least
    /// up to `least`.
    pub(crate) fn check(&self, journal: &dyn Journal, least: u64) -> Result<u64, String> {
        let session = self.stream.session;
        let told = |error: Error| format!("{session}: {error}");
        let head = block_on(journal.head(session)).map_err(told)?;
        let found = head.map_or(0, |head| head.seq);
        if found < least {
            return Err(format!(
                "{session} ends at {found}, acknowledged was {least}"
            ));
        }
        if found > 0 && !self.ends.contains(&found) {
            return Err(format!("{session} ends at {found}, within an append"));
        }
        let count = usize::try_from(found).unwrap();
        let lines = block_on(journal.read(session, 1, usize::MAX)).map_err(told)?;
        if lines[..] != self.stream.lines[..count] {
            return Err(format!("{session} does not read as it was written"));
        }
        if head.map(|head| head.hash) != lines.last().map(recount_journal::Line::leaf) {
            return Err(format!("the head of {session} is not its last record"));
        }
        let open = block_on(journal.open_work_of(session)).map_err(told)?;
        if open != Vec::from_iter(self.last_item(found)) {
            return Err(format!("{session} ends at {found} with {open:?} open"));
        }
        for (seq, object) in &self.objects {
            let kept = block_on(journal.object(object.hash)).map_err(told)?;
            if *seq <= found && kept.as_deref() != Some(&*object.bytes) {
                return Err(format!(
                    "{session} names an object at {seq} that is not kept"
                ));
            }
        }
        Ok(found)
    }

    /// Continues from the content of the journal, which may lack appends that were never
    /// acknowledged.
    pub(crate) fn resume(&mut self, journal: &dyn Journal) {
        let head = block_on(journal.head(self.stream.session)).unwrap();
        let found = head.map_or(0, |head| head.seq);
        self.stream.lines.truncate(usize::try_from(found).unwrap());
        self.ends.retain(|end| *end <= found);
        self.objects.retain(|(seq, _)| *seq <= found);
    }
}
