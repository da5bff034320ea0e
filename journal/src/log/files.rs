//! A reader of single appends and objects in the log, at places that the index knows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::{FramePlace, Place, segment_name};
use super::logged_append::{APPEND_HEADER, split};
use crate::files::disk::{Disk, DiskFile};

/// The maximum number of open files.
const OPEN_MAX: usize = 32;

/// The largest gap, in bytes, that is read along between two appends. It costs about as much as
/// another system call.
const GAP_MAX: u64 = 4 << 10;

/// The maximum bytes of one read, unless one append is longer.
const READ_MAX: u64 = 256 << 10;

/// The maximum number of buffers that are kept for the next readers.
const BUFFERS_MAX: usize = 4;

/// The segments of a log, opened for reading on demand.
pub(crate) struct LogFiles {
    disk: Arc<dyn Disk>,
    /// The files that are not being read now, in the order of their last use.
    open: Mutex<Vec<(u32, Box<dyn DiskFile>)>>,
    /// Buffers for reads, to be used again.
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl LogFiles {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            open: Mutex::new(Vec::new()),
            buffers: Mutex::new(Vec::new()),
        }
    }

    /// Reads the bodies of appends, neighbours together. `visit` gets each readable body with a
    /// valid checksum, and the index of its place.
    pub(crate) fn appends(
        &self,
        places: impl Iterator<Item = (usize, FramePlace, Place)>,
        mut visit: impl FnMut(usize, &[u8]),
    ) {
        let mut wanted: Vec<Wanted> = places.filter_map(Wanted::of).collect();
        wanted.sort_unstable_by_key(|it| (it.segment, it.start));
        let mut buffer = self.buffers().pop().unwrap_or_default();
        let mut rest = wanted.as_slice();
        while let Some(first) = rest.first() {
            let (mut end, mut count) = (first.end, 1);
            while let Some(next) = rest.get(count).filter(|next| next.is_read_with(first, end)) {
                end = end.max(next.end);
                count += 1;
            }
            let (together, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            let read = self.read_together(together, end, &mut buffer, &mut visit);
            if !read && together.len() > 1 {
                // If one append cannot be read, its neighbours are read one by one.
                for it in together {
                    self.read_together(std::slice::from_ref(it), it.end, &mut buffer, &mut visit);
                }
            }
            rest = others;
        }
        let mut buffers = self.buffers();
        if buffers.len() < BUFFERS_MAX {
            buffers.push(buffer);
        }
    }

    /// Reads neighbouring appends up to `end`, with the gaps between them. Returns false if the
    /// read failed.
    fn read_together(
        &self,
        wanted: &[Wanted],
        end: u64,
        buffer: &mut Vec<u8>,
        visit: &mut impl FnMut(usize, &[u8]),
    ) -> bool {
        let Some(Wanted { segment, start, .. }) = wanted.first() else {
            return true;
        };
        let length = (end - start) as usize;
        // An append that is too long for the buffer gets its own zeroed memory.
        let mut own = vec![0; if length as u64 > READ_MAX { length } else { 0 }];
        let bytes = if own.is_empty() {
            // The buffer only grows, so that no bytes are zeroed and then overwritten.
            buffer.resize(buffer.len().max(length), 0);
            buffer.get_mut(..length).unwrap_or_default()
        } else {
            own.as_mut_slice()
        };
        if !self.read_at(*segment, *start, bytes) {
            return false;
        }
        for it in wanted {
            if let Some(body) = it.body(bytes, *start) {
                visit(it.which, body);
            }
        }
        true
    }

    /// Reads the bytes at a place.
    pub(crate) fn bytes(&self, frame: FramePlace, place: Place) -> Option<Vec<u8>> {
        let at = u64::from(frame.at) + u64::from(place.offset);
        let mut bytes = vec![0; place.length as usize];
        self.read_at(frame.segment, at, &mut bytes).then_some(bytes)
    }

    fn read_at(&self, segment: u32, at: u64, bytes: &mut [u8]) -> bool {
        let Some(mut file) = self.take(segment) else {
            return false;
        };
        let read = file.read_at(at, bytes);
        self.put_back(segment, file);
        read.is_ok()
    }

    /// Takes a segment that is not being read, so that no reader waits for another.
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
        if open.len() == OPEN_MAX {
            open.remove(0);
        }
        open.push((segment, file));
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Vec<(u32, Box<dyn DiskFile>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An append to read, with its header.
struct Wanted {
    /// The index of the append in the request.
    which: usize,
    segment: u32,
    start: u64,
    end: u64,
}

impl Wanted {
    fn of((which, frame, place): (usize, FramePlace, Place)) -> Option<Wanted> {
        let body = u64::from(frame.at) + u64::from(place.offset);
        Some(Wanted {
            which,
            segment: frame.segment,
            start: body.checked_sub(APPEND_HEADER as u64)?,
            end: body + u64::from(place.length),
        })
    }

    /// True if it is read together with the appends from `first` to `end`.
    fn is_read_with(&self, first: &Wanted, end: u64) -> bool {
        self.segment == first.segment
            && self.start <= end + GAP_MAX
            && (self.end <= end || self.end - first.start <= READ_MAX)
    }

    /// The body, in bytes that begin at `start` of its segment.
    fn body<'b>(&self, bytes: &'b [u8], start: u64) -> Option<&'b [u8]> {
        let from = usize::try_from(self.start - start).ok()?;
        let to = usize::try_from(self.end - start).ok()?;
        let append = bytes.get(from..to)?;
        let (body, intact) = split(append).next()?;
        (intact && body.len() + APPEND_HEADER == append.len()).then_some(body)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::fs;

    use uuid::Uuid;

    use super::*;
    use crate::Append;
    use crate::files::disk::RealDisk;
    use crate::log::encode_append;

    /// Writes a log of two segments with three consecutive appends each. Returns the places of all
    /// six.
    fn log(at: &std::path::Path) -> (LogFiles, Vec<(FramePlace, Place)>) {
        let mut places = Vec::new();
        for segment in 1..=2_u32 {
            let mut bytes = Vec::new();
            for session in 1..=3_u128 {
                let session = Uuid::from_u128(session + u128::from(segment) * 10);
                let append = encode_append(&Append::new(session, 0, Vec::new()), |_| false).bytes;
                let frame = FramePlace {
                    number: 1,
                    segment,
                    at: 0,
                };
                let body = bytes.len() + APPEND_HEADER;
                places.push((frame, Place::of(body, append.len() - APPEND_HEADER)));
                bytes.extend(append);
            }
            fs::write(at.join(segment_name(u64::from(segment))), bytes).unwrap();
        }
        (LogFiles::new(Arc::new(RealDisk::new(at))), places)
    }

    fn given(log: &LogFiles, places: &[(FramePlace, Place)]) -> Vec<Option<Vec<u8>>> {
        let mut given = vec![None; places.len()];
        let wanted = places.iter().enumerate();
        log.appends(
            wanted.map(|(which, (frame, place))| (which, *frame, *place)),
            |which, body| *given.get_mut(which).unwrap() = Some(body.to_vec()),
        );
        given
    }

    #[test]
    fn appends_are_read_in_any_order_and_segment() {
        let directory = tempfile::tempdir().unwrap();
        let (log, mut places) = log(directory.path());
        places.reverse();
        places.push(*places.first().unwrap());
        for (body, (frame, place)) in given(&log, &places).into_iter().zip(&places) {
            assert_eq!(body.unwrap(), log.bytes(*frame, *place).unwrap());
        }
    }

    #[test]
    fn damaged_append_does_not_hide_its_neighbours() {
        let directory = tempfile::tempdir().unwrap();
        let (log, places) = log(directory.path());
        let file = directory.path().join(segment_name(1));
        let whole = fs::read(&file).unwrap();
        let given_of = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            let bodies = given(&log, &places);
            bodies.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        let cut = whole.get(..whole.len() - 1).unwrap();
        assert_eq!(given_of(cut), [true, true, false, true, true, true]);
        let mut damaged = whole.clone();
        *damaged.get_mut(whole.len() / 2).unwrap() ^= 1;
        assert_eq!(given_of(&damaged), [true, false, true, true, true, true]);
    }
}
