//! The baseline: the minimum that makes appends of many writers durable, without the functions of a
//! journal.
//!
//! The file is filled with zeros and synced beforehand, so that a sync writes data and no metadata.
//! Writers queue their batches. A thread takes the queue, writes it in one call, syncs once, and
//! notifies each writer. Meanwhile the next queue fills: this is group commit without a timer.
//! There is no framing, checksum, order, index, or reading.

use std::fs::File;
use std::mem;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use futures_channel::oneshot;

use crate::log::Planned;

/// The length of the file, in bytes. After that it is overwritten from the start.
const FILE_BYTES: u64 = 1 << 30;

/// A file of zeros that is allocated and synced.
#[derive(Debug)]
pub(crate) struct Preallocated {
    file: File,
    offset: u64,
}

impl Preallocated {
    pub(crate) fn new(path: &Path) -> Self {
        let file = File::create(path).expect("a file");
        // Larger writes create larger folios in the page cache. Each later sync of a few bytes
        // would walk through a whole folio.
        let zeros = vec![0; 64 << 10];
        for offset in (0..FILE_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset).expect("room");
        }
        file.sync_all().expect("a sync");
        Self { file, offset: 0 }
    }

    fn write_and_sync(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        assert!(length <= FILE_BYTES, "one commit of {length} bytes");
        if self.offset + length > FILE_BYTES {
            self.offset = 0;
        }
        self.file
            .write_all_at(bytes, self.offset)
            .expect("a write into a file that is there");
        self.file.sync_data().expect("a sync");
        self.offset += length;
    }

    /// Writes and syncs in a loop on this thread, as the simplest log. Returns the writes per
    /// second.
    pub(crate) fn loop_for(&mut self, bytes: &[u8], time: Duration) -> f64 {
        let (begun, mut writes) = (Instant::now(), 0);
        while begun.elapsed() < time {
            self.write_and_sync(bytes);
            writes += 1;
        }
        f64::from(writes) / begun.elapsed().as_secs_f64()
    }
}

/// The place where the bytes of many writers are concatenated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// The writer thread concatenates the queued batches. The journal is compared with this form.
    Queue,
    /// The writers copy into one buffer under the lock, each on its own core.
    SharedBuffer,
}

/// A log with group commit.
#[derive(Debug)]
pub(crate) struct RawLog {
    form: Form,
    shared: Arc<Shared>,
    writer: JoinHandle<Preallocated>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    closed: bool,
}

#[derive(Debug, Default)]
struct Pending {
    batches: Vec<Planned>,
    bytes: Vec<u8>,
    waiters: Vec<oneshot::Sender<()>>,
}

impl RawLog {
    pub(crate) fn new(form: Form, file: Preallocated) -> Self {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let writer = thread::Builder::new().name("raw log".to_owned());
        let writer = writer.spawn(move || theirs.work(file)).expect("a thread");
        Self {
            form,
            shared,
            writer,
        }
    }

    /// Queues a batch. The returned receiver completes after its sync.
    pub(crate) fn submit(&self, batch: Planned) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        let mut state = self.shared.state.lock().expect("a lock");
        let pending = &mut state.pending;
        match self.form {
            Form::Queue => pending.batches.push(batch),
            Form::SharedBuffer => batch.write_to(&mut pending.bytes),
        }
        pending.waiters.push(tell);
        let was_empty = pending.waiters.len() == 1;
        drop(state);
        if was_empty {
            self.shared.arrived.notify_one();
        }
        told
    }

    /// Stops the thread and returns the file.
    pub(crate) fn stop(self) -> Preallocated {
        self.shared.state.lock().expect("a lock").closed = true;
        self.shared.arrived.notify_one();
        self.writer.join().expect("a writer that ends well")
    }
}

impl Shared {
    fn work(&self, mut file: Preallocated) -> Preallocated {
        let mut taken = Pending::default();
        loop {
            let mut state = self.state.lock().expect("a lock");
            while state.pending.waiters.is_empty() {
                if state.closed {
                    return file;
                }
                state = self.arrived.wait(state).expect("a lock");
            }
            mem::swap(&mut state.pending, &mut taken);
            drop(state);
            for batch in taken.batches.drain(..) {
                batch.write_to(&mut taken.bytes);
            }
            file.write_and_sync(&taken.bytes);
            taken.bytes.clear();
            for waiter in taken.waiters.drain(..) {
                waiter.send(()).expect("a writer that waits");
            }
        }
    }
}
