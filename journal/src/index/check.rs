//! Whether the index holds what the log says, all of it and nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};

use uuid::Uuid;

use super::{Index, contained, rows};
use crate::log::Entry;
use crate::open_work::OpenWork;
use crate::{Hash, Head};

/// The sum of the rows of events and objects, whatever their order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Digest {
    rows: u64,
    sum: u64,
}

impl Digest {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut hasher = crc32fast::Hasher::new_with_initial(0x5243_4c47);
        hasher.update(key);
        hasher.update(value);
        let mixed = (u64::from(hasher.finalize()) ^ 0x9e37_79b9_7f4a_7c15)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.rows += 1;
        self.sum = self.sum.wrapping_add(mixed ^ mixed >> 29);
    }
}

/// What the log says the index must hold.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    digest: Digest,
    objects: HashSet<Hash>,
}

impl Expected {
    /// Counts an append in.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        rows::events(entry, |key, value| self.digest.add(&key, &value));
        for (hash, bytes) in &entry.objects {
            if self.objects.insert(*hash) {
                rows::object(hash, bytes, |key, value| self.digest.add(&key, &value));
            }
        }
    }

    /// How many different objects there are.
    pub(crate) fn objects(&self) -> usize {
        self.objects.len()
    }
}

impl Index {
    /// Compares every row with what the log says; tells the first thing that differs.
    pub(crate) fn check(
        &self,
        expected: &Expected,
        heads: &BTreeMap<Uuid, Head>,
        work: &OpenWork,
    ) -> Result<(), String> {
        let mut small: HashMap<Vec<u8>, Vec<u8>> = heads
            .iter()
            .map(|(session, head)| rows::head(*session, head))
            .collect();
        small.extend(work.rows().filter_map(|row| match rows::work(&row) {
            (key, Some(value)) => Some((key, value)),
            (_, None) => None,
        }));
        let mut digest = Digest::default();
        contained(|| {
            for row in self.store.iter() {
                let (key, value) = row.map_err(|error| error.to_string())?;
                let letter = key.first().copied().unwrap_or_default();
                if letter == rows::EVENTS || letter == rows::OBJECTS {
                    digest.add(&key, &value);
                } else if *key != rows::MARK && small.remove(&*key).as_deref() != Some(&*value) {
                    return Err(format!(
                        "a row under {:?} is not what the log says",
                        char::from(letter)
                    ));
                }
            }
            if let Some(key) = small.keys().next() {
                let letter = char::from(key.first().copied().unwrap_or_default());
                return Err(format!(
                    "{} rows are missing, one of them under {letter:?}",
                    small.len()
                ));
            }
            if digest == expected.digest {
                return Ok(());
            }
            let (found, wanted) = (digest.rows, expected.digest.rows);
            Err(format!(
                "its {found} rows of events and objects are not the {wanted} of the log"
            ))
        })
    }
}
