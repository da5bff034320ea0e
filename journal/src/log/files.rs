//! Reads single appends and objects of the log, from where the index says that they stand.

use std::sync::{Arc, Mutex, PoisonError};

use super::disk::{Disk, DiskFile};
use super::entry::{ENTRY_HEADER, split};
use super::frame::{FramePlace, Place, segment_name};

/// How many segments are kept open.
const OPEN: usize = 32;

/// The segments of a log, opened for reading as they are needed.
pub(crate) struct LogFiles {
    disk: Arc<dyn Disk>,
    /// The one that was opened last stands last.
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
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.iter().any(|(segment, _)| *segment == frame.segment) {
            let name = segment_name(u64::from(frame.segment));
            let file = self.disk.open(&name, false).ok()?;
            if open.len() == OPEN {
                open.remove(0);
            }
            open.push((frame.segment, file));
        }
        let (_, file) = open
            .iter_mut()
            .find(|(segment, _)| *segment == frame.segment)?;
        let at = u64::from(frame.at) + u64::from(place.offset);
        let mut bytes = vec![0; place.length as usize];
        file.read_at(at, &mut bytes).ok()?;
        Some(bytes)
    }
}
