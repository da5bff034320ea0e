//! The clients: they speak and listen for a while, and print what they measured.

use std::sync::Arc;
use std::time::Duration;

use crate::children::{raise_limit, say};
use crate::latencies::now;
use crate::processor_time::processor_time;
use crate::speaking::{Audio, Listener, Speaker};
use crate::websocket::{FUNCTIONS, begin};

/// The time from the first frame to the first that counts.
const WARM_UP: Duration = Duration::from_millis(1_500);

/// The time for the last frames to come.
const LAST: Duration = Duration::from_millis(500);

/// Speaks on that many connections. Prints the begin and the end of the time that counts when it
/// begins, and at its end the latencies, the longest delay of a frame and the CPU time.
pub(crate) fn child(address: &str, sessions: &str, milliseconds: &str) {
    raise_limit();
    let sessions: usize = sessions.parse().expect("a number of sessions");
    let time = Duration::from_millis(milliseconds.parse().expect("milliseconds"));
    let ears = Listener::to(&Audio::of_model());
    let speaker = Speaker::start(Audio::of_user());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    for _ in 0..sessions {
        let stream = begin(address, FUNCTIONS);
        stream.set_nonblocking(true).expect("a socket");
        let stream = Arc::new(stream);
        let (ears, heard) = (ears.clone(), stream.clone());
        runtime.spawn(async move { ears.read(&heard, || {}).await });
        speaker.add(stream);
    }
    std::thread::sleep(WARM_UP);
    let from = now();
    let to = from + u64::try_from(time.as_nanos()).expect("a short time");
    ears.listen(from, to);
    speaker.latest();
    let worked = processor_time();
    say(&format!("{from} {to}"));
    std::thread::sleep(time);
    let (latest, worked) = (speaker.latest(), processor_time() - worked);
    std::thread::sleep(LAST);
    say(&ears.latencies().to_line());
    say(&latest.as_micros().to_string());
    say(&worked.as_nanos().to_string());
    speaker.end();
}
