//! The comparison of the index with the log: the index must have all rows of the log, and no
//! others.

use std::collections::BTreeMap;

use super::rows::{self, Row};
use super::tree::{Index, contained};

impl Index {
    /// Compares all rows except frames with the rows that follow from the log. Returns the first
    /// difference.
    pub(crate) fn check(&self, expected: impl Iterator<Item = Row>) -> Result<(), String> {
        let mut wanted: BTreeMap<u8, usize> = BTreeMap::new();
        contained(|| {
            for row in expected {
                let stored = self
                    .store
                    .get(&row.key)
                    .map_err(|error| error.to_string())?;
                if stored.as_deref() != row.value.as_deref() {
                    return Err(format!(
                        "a row under {:?} is not what the log says",
                        letter(&row.key)
                    ));
                }
                if let Some(prefix) = row.key.first().filter(|_| row.value.is_some()) {
                    *wanted.entry(*prefix).or_default() += 1;
                }
            }
            let marks = self.store.scan_prefix(rows::MARK_OF_WHOLE_FRAMES).count();
            if marks != 1 {
                return Err(format!("it has {marks} marks"));
            }
            for prefix in [
                rows::GROUPS,
                rows::HEADS,
                rows::ITEMS,
                rows::REQUESTS,
                rows::OBJECTS,
            ] {
                let wanted = wanted.get(&prefix).copied().unwrap_or_default();
                let mut found = 0_usize;
                for row in self.store.scan_prefix([prefix]) {
                    row.map_err(|error| error.to_string())?;
                    found += 1;
                }
                if found != wanted {
                    let letter = char::from(prefix);
                    return Err(format!(
                        "it has {found} rows under {letter:?} instead of {wanted}"
                    ));
                }
            }
            Ok(())
        })
    }
}

fn letter(key: &[u8]) -> char {
    char::from(key.first().copied().unwrap_or_default())
}
