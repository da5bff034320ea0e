//! Reads events and objects from the index; a value that is missing or does not hold its checksum is an error, never wrong data.

use uuid::Uuid;

use super::{Index, contained, rows};
use crate::cursor::Cursor;
use crate::{Error, Hash, Head, Line};

impl Index {
    /// The records of a stream from a seq up to and including another, at most so many.
    pub(crate) fn read(
        &self,
        session: Uuid,
        from: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<Line>, Error> {
        let mut lines = Vec::new();
        if from > last || limit == 0 {
            return Ok(lines);
        }
        let mut seq = from;
        let damaged = |seq: u64, what: String| Error::Index {
            session: Some(session),
            seq: Some(seq),
            what,
        };
        contained(|| {
            self.read_appends(session, from, |first, append| {
                // Appends stand side by side; the first of them may begin before the seq asked for.
                if first > seq {
                    return Ok(false);
                }
                let mut cursor = Cursor(append);
                let mut at = first;
                while let Some(line) = cursor.sized() {
                    if at == seq && lines.len() < limit && seq <= last {
                        lines.push(Line::new(line));
                        seq += 1;
                    }
                    at += 1;
                }
                Ok(at == seq && lines.len() < limit && seq <= last)
            })
        })
        .map_err(|what| damaged(seq, what))?;
        if seq <= last && lines.len() < limit {
            return Err(damaged(seq, "the record is missing".to_owned()));
        }
        Ok(lines)
    }

    /// Gives each append from the one that holds a seq on, until told to stop.
    fn read_appends(
        &self,
        session: Uuid,
        from: u64,
        mut each: impl FnMut(u64, &[u8]) -> Result<bool, String>,
    ) -> Result<(), String> {
        let lowest = rows::event_key(session, 0, 0);
        let start = self
            .store
            .range(lowest..=rows::event_key(session, from, u32::MAX))
            .next_back();
        let Some((key, _)) = start.transpose().map_err(|error| error.to_string())? else {
            return Ok(());
        };
        let (_, first, _) = rows::read_event_key(&key).ok_or("an event key is too short")?;
        let highest = rows::event_key(session, u64::MAX, u32::MAX);
        let mut pieces = self
            .store
            .range(rows::event_key(session, first, 0)..=highest);
        while let Some(row) = pieces.next() {
            let (key, value) = row.map_err(|error| error.to_string())?;
            let (_, first, part) = rows::read_event_key(&key).ok_or("an event key is too short")?;
            if part != 0 {
                return Err(format!("the append at seq {first} begins with part {part}"));
            }
            let (append, _) = joined(&key, &value, || pieces.next())?;
            if !each(first, &append)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the events of an append stand in the index exactly as they should.
    pub(crate) fn holds(&self, entry: &crate::log::Entry<'_>) -> bool {
        contained(|| {
            let mut holds = true;
            rows::events(entry, |key, value| {
                holds &= self
                    .store
                    .get(key)
                    .is_ok_and(|stored| stored.is_some_and(|stored| *stored == *value));
            });
            Ok(holds)
        })
        .unwrap_or(false)
    }

    /// The bytes of an object.
    pub(crate) fn object(&self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        let damaged = |what: String| Error::Index {
            session: None,
            seq: None,
            what: format!("object {hash}: {what}"),
        };
        let bytes = contained(|| {
            let mut pieces = self
                .store
                .range(rows::object_key(hash, 0)..=rows::object_key(hash, u32::MAX));
            let Some(row) = pieces.next() else {
                return Ok(None);
            };
            let (key, value) = row.map_err(|error| error.to_string())?;
            joined(&key, &value, || pieces.next()).map(|(bytes, _)| Some(bytes))
        })
        .map_err(damaged)?;
        match bytes {
            Some(bytes) if Hash::of_object(&bytes) != *hash => {
                Err(damaged("its bytes do not hash to it".to_owned()))
            }
            bytes => Ok(bytes),
        }
    }

    /// Whether an object is there; a doubt counts as no.
    pub(crate) fn has_object(&self, hash: &Hash) -> bool {
        self.object(hash).is_ok_and(|bytes| bytes.is_some())
    }

    /// All heads, the system stream's too.
    pub(crate) fn heads(&self) -> Result<Vec<(Uuid, Head)>, String> {
        contained(|| {
            let heads = self.store.scan_prefix([rows::HEADS]).map(|row| {
                let (key, value) = row.map_err(|error| error.to_string())?;
                rows::read_head(&key, &value)
                    .ok_or_else(|| "a head does not hold its checksum".to_owned())
            });
            heads.collect()
        })
    }
}

type Row = sled::Result<(sled::IVec, sled::IVec)>;

/// Joins the parts of a value, beginning with its first row; also gives the count that stands there.
fn joined(
    key: &[u8],
    value: &[u8],
    mut next: impl FnMut() -> Option<Row>,
) -> Result<(Vec<u8>, u32), String> {
    let broken = || "a value does not hold its checksum".to_owned();
    let (payload, _) = rows::unsealed(key, value).ok_or_else(broken)?;
    let mut cursor = Cursor(payload);
    let (parts, count) = cursor.u32().zip(cursor.u32()).ok_or_else(broken)?;
    let mut bytes = cursor.0.to_vec();
    let prefix = key
        .split_last_chunk::<4>()
        .map(|(prefix, _)| prefix)
        .unwrap_or_default();
    for part in 1..parts {
        let (key, value) = next()
            .ok_or("a part is missing")?
            .map_err(|error| error.to_string())?;
        if key.strip_prefix(prefix) != Some(&part.to_be_bytes()) {
            return Err(format!("part {part} is missing"));
        }
        bytes.extend_from_slice(rows::unsealed(&key, &value).ok_or_else(broken)?.0);
    }
    Ok((bytes, count))
}
