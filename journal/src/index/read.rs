//! The lookups in the index. A missing value, or one that fails its checksum, is an error, never
//! wrong data.

use std::collections::BTreeMap;
use std::ops::Bound;

use uuid::Uuid;

use super::places::{ObjectPlace, Position, Stream};
use super::rows;
use super::tree::{Index, contained};
use crate::records::open_work::OpenWork;
use crate::{Error, Hash, Head, WorkChange};

impl Index {
    /// Returns the head of a stream, and the positions of its last appends.
    pub(crate) fn stream(&self, session: Uuid) -> Result<Option<Stream>, Error> {
        self.find(rows::head_key(session), "the head", |key, value| {
            rows::read_head(key, value).map(|(_, stream)| stream)
        })
        .map_err(|what| at(session, what))
    }

    /// Returns the positions of the group that holds a seq, or of the last group before it.
    pub(crate) fn group(&self, session: Uuid, seq: u64) -> Result<Option<Vec<Position>>, Error> {
        let lowest = rows::group_key(session, 0);
        let key = rows::group_key(session, seq);
        contained(|| {
            let row = self.store.range(lowest..=key).next_back().transpose();
            let Some((key, value)) = row.map_err(|error| error.to_string())? else {
                return Ok(None);
            };
            let positions = rows::read_group(&key, &value);
            positions
                .map(Some)
                .ok_or_else(|| "a group of positions does not hold its checksum".to_owned())
        })
        .map_err(|what| at(session, what))
    }

    /// Returns the item of a request id.
    pub(crate) fn request(&self, request: Uuid) -> Result<Option<(Uuid, u64)>, Error> {
        self.find(rows::request_key(request), "a request", rows::read_request)
            .map_err(nowhere)
    }

    /// Returns the place of an object.
    pub(crate) fn object(&self, hash: &Hash) -> Result<Option<ObjectPlace>, Error> {
        self.find(
            rows::object_key(hash),
            "the place of an object",
            rows::read_object,
        )
        .map_err(nowhere)
    }

    fn find<T>(
        &self,
        key: Vec<u8>,
        what: &str,
        read: impl FnOnce(&[u8], &[u8]) -> Option<T>,
    ) -> Result<Option<T>, String> {
        contained(|| {
            let value = self.store.get(&key).map_err(|error| error.to_string())?;
            value
                .map(|value| {
                    read(&key, &value).ok_or_else(|| format!("{what} does not hold its checksum"))
                })
                .transpose()
        })
    }

    /// Returns the heads of the streams after a session, at most `limit`.
    pub(crate) fn heads(
        &self,
        after: Bound<Uuid>,
        limit: usize,
    ) -> Result<BTreeMap<Uuid, Head>, Error> {
        let start = after.map(rows::head_key);
        let end = Bound::Excluded(vec![rows::HEADS + 1]);
        let start = match start {
            Bound::Unbounded => Bound::Included(vec![rows::HEADS]),
            Bound::Included(key) => Bound::Included(key),
            Bound::Excluded(key) => Bound::Excluded(key),
        };
        contained(|| {
            let rows = self.store.range((start, end)).take(limit).map(|row| {
                let (key, value) = row.map_err(|error| error.to_string())?;
                let (session, stream) = rows::read_head(&key, &value)
                    .ok_or_else(|| "a head does not hold its checksum".to_owned())?;
                Ok((session, stream.head))
            });
            rows.collect()
        })
        .map_err(nowhere)
    }

    /// Returns the addresses of all objects, as far as they can be read.
    pub(crate) fn objects(&self) -> Vec<Hash> {
        let mut objects = Vec::new();
        let rows = contained(|| {
            for row in self.store.scan_prefix([rows::OBJECTS]) {
                let (key, value) = row.map_err(|error| error.to_string())?;
                let name =
                    rows::read_object(&key, &value).and_then(|_| rows::read_object_key(&key));
                objects.extend(name);
            }
            Ok(())
        });
        // The rows after a failure cannot be read.
        let _as_far_as = rows;
        objects
    }

    /// Returns all open items.
    pub(crate) fn open_work(&self) -> Result<OpenWork, String> {
        contained(|| {
            let mut work = OpenWork::default();
            for row in self.store.scan_prefix([rows::ITEMS]) {
                let (key, value) = row.map_err(|error| error.to_string())?;
                let item = rows::read_item(&key, &value)
                    .ok_or_else(|| "an open item does not hold its checksum".to_owned())?;
                work.apply(&WorkChange::Put(item));
            }
            Ok(work)
        })
    }
}

fn at(session: Uuid, what: String) -> Error {
    Error::Index {
        session: Some(session),
        seq: None,
        what,
    }
}

pub(crate) fn nowhere(what: String) -> Error {
    if let Some(source) = super::refused_by_disk(&what) {
        return Error::io("write the index")(source);
    }
    Error::Index {
        session: None,
        seq: None,
        what,
    }
}
