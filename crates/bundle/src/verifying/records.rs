//! The records of a bundle: which are shown, and the roots at the sizes of checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};

use recount::ledger::objects_named;
use recount_journal::tree::Frontier;
use recount_journal::{Hash, Record};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

/// The maximum length of a line, in bytes. `verify::export` has found longer ones.
const LINE_MAX: u64 = 1 << 30;

/// The kind of the record that received a call.
const CALLED: &str = "function_call_received";

/// The facts that other files of a bundle are compared with.
#[derive(Default)]
pub(super) struct Records {
    pub(super) shown: u64,
    /// The roots, by the number of leaves. The wanted ones are keys from the beginning.
    pub(super) roots: BTreeMap<u64, Option<Hash>>,
    /// The leaves, by their index. The wanted ones are keys from the beginning.
    pub(super) leaves: BTreeMap<u64, Option<Hash>>,
    pub(super) objects: BTreeSet<Hash>,
    pub(super) named: BTreeSet<Hash>,
    /// The shown records that received a call.
    pub(super) calls: BTreeSet<(Uuid, u64)>,
    /// The records that received a call and are shown in part.
    pub(super) redacted_calls: BTreeSet<(Uuid, u64)>,
    /// The records that received a call, shown or not.
    pub(super) received: BTreeSet<(Uuid, u64)>,
    tree: Frontier,
}

/// A line that is no record. A record has other members, and none of these.
#[derive(Deserialize)]
struct OtherLine {
    withheld: Option<WithheldLine>,
    subtree: Option<SubtreeLine>,
    object: Option<Hash>,
}

#[derive(Deserialize)]
struct WithheldLine {
    hash: Hash,
    record: Box<RawValue>,
}

#[derive(Deserialize)]
struct SubtreeLine {
    leaves: u64,
    hash: Hash,
}

impl Records {
    /// Facts about the roots at these sizes and the leaves at these indexes.
    pub(super) fn wanted(
        sizes: impl Iterator<Item = u64>,
        places: impl Iterator<Item = u64>,
    ) -> Records {
        Records {
            roots: sizes.map(|it| (it, None)).collect(),
            leaves: places.map(|it| (it, None)).collect(),
            ..Records::default()
        }
    }

    /// Reads the lines of a file, which `verify::export` checks. Lines that cannot be read are
    /// passed over.
    pub(super) fn read(&mut self, mut file: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = io::Read::take(&mut file, LINE_MAX);
            if bounded.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            self.line(line.strip_suffix(b"\n").unwrap_or(&line));
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.starts_with(b"{\"v\":") {
            let Ok(record) = Record::parse(line) else {
                return;
            };
            self.shown += 1;
            self.named.extend(objects_named(&record));
            if record.kind == CALLED {
                self.calls.insert((record.session, record.seq));
                self.received.insert((record.session, record.seq));
            }
            return self.leaf(Hash::of_line(line));
        }
        let Ok(other) = serde_json::from_slice::<OtherLine>(line) else {
            return;
        };
        if let Some(withheld) = other.withheld {
            if let Ok(record) = Record::parse(withheld.record.get().as_bytes())
                && record.kind == CALLED
            {
                let place = (record.session, record.seq);
                self.received.insert(place);
                if record.body.get() != "null" {
                    self.redacted_calls.insert(place);
                }
            }
            self.leaf(withheld.hash);
        } else if let Some(subtree) = other.subtree {
            self.tree.push_subtree(subtree.leaves, subtree.hash);
            self.keep_root();
        } else if let Some(object) = other.object {
            self.objects.insert(object);
        }
    }

    fn leaf(&mut self, leaf: Hash) {
        if let Some(kept) = self.leaves.get_mut(&self.tree.size()) {
            *kept = Some(leaf);
        }
        self.tree.push(leaf);
        self.keep_root();
    }

    fn keep_root(&mut self) {
        if let Some(kept) = self.roots.get_mut(&self.tree.size()) {
            *kept = Some(self.tree.root());
        }
    }
}
