//! Reads single appends and objects of the log, from where the index says that they stand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::{Disk, DiskFile};
use super::entry::{ENTRY_HEADER, split};
use super::frame::{FramePlace, Place, segment_name};

/// How many files are kept open.
const OPEN: usize = 32;

/// The segments of a log, opened for reading as they are needed.
pub(crate) struct LogFiles {
    disk: Arc<dyn Disk>,
    /// Files that nobody reads at the moment; the one that was read last stands last.
    open: Mutex<Vec<(u32, Box<dyn DiskFile>)>>,
}

impl LogFiles {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            open: Mutex::new(Vec::new()),
        }
    }

    /// The body of an append, if it can be read and holds its checksum.
    pub(crate) fn append(&self, frame: FramePlace, place: Place) -> Option<Vec<u8>> {
        let header = u32::try_from(ENTRY_HEADER).ok()?;
        let all = Place {
            offset: place.offset.checked_sub(header)?,
            length: place.length.checked_add(header)?,
        };
        let mut bytes = self.bytes(frame, all)?;
        let (body, intact) = split(&bytes).next()?;
        (intact && body.len() == place.length as usize).then_some(())?;
        bytes.drain(..ENTRY_HEADER);
        Some(bytes)
    }

    /// Whatever stands at a place.
    pub(crate) fn bytes(&self, frame: FramePlace, place: Place) -> Option<Vec<u8>> {
        let mut file = self.take(frame.segment)?;
        let at = u64::from(frame.at) + u64::from(place.offset);
        let mut bytes = vec![0; place.length as usize];
        let read = file.read_at(at, &mut bytes);
        self.put_back(frame.segment, file);
        read.is_ok().then_some(bytes)
    }

    /// A segment that nobody reads at the moment, so that nobody waits for another's reading.
    fn take(&self, segment: u32) -> Option<Box<dyn DiskFile>> {
        let mut open = self.open();
        if let Some(at) = open.iter().rposition(|(it, _)| *it == segment) {
            return Some(open.remove(at).1);
        }
        drop(open);
        self.disk
            .open(&segment_name(u64::from(segment)), false)
            .ok()
    }

    fn put_back(&self, segment: u32, file: Box<dyn DiskFile>) {
        let mut open = self.open();
        if open.len() == OPEN {
            open.remove(0);
        }
        open.push((segment, file));
    }

    fn open(&self) -> MutexGuard<'_, Vec<(u32, Box<dyn DiskFile>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
