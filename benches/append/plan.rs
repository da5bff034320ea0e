//! The plan of a run: its batches are built and hashed before the measurement.

use std::thread;

use recount::journal::Append;

use crate::batch::Stream;

/// The memory limits: for the batches of one plan, and for one batch with all its parts, in bytes.
const MEMORY: usize = 4 << 30;
const BATCH_MEMORY: usize = 1_800;

/// The batches of each session, in order.
pub(crate) fn build(sessions: u64, appends: usize) -> Vec<Vec<Append>> {
    let each = appends
        .min(MEMORY / BATCH_MEMORY)
        .div_ceil(sessions as usize);
    let build = |number: u64| -> Vec<Append> {
        let mut stream = Stream::new(number);
        (0..each).map(|_| stream.next_append()).collect()
    };
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let share = sessions.div_ceil(threads);
    thread::scope(|scope| {
        let build = &build;
        let shares = (0..sessions).step_by(share as usize).map(|first| {
            let numbers = first..sessions.min(first + share);
            scope.spawn(move || numbers.map(build).collect::<Vec<_>>())
        });
        let shares: Vec<_> = shares.collect();
        let built = shares
            .into_iter()
            .map(|share| share.join().expect("a plan"));
        built.flatten().collect()
    })
}
