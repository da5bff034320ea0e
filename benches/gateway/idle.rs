//! The memory of a session that is relayed and does nothing.

use std::path::Path;
use std::time::Duration;

use crate::children::{Process, raise_limit};
use crate::table;
use crate::websocket::{FUNCTIONS, begin};

const TARGET_KIB: f64 = 60.0;

/// The time until the index has caught up, and the allocator has what was freed.
const SETTLING: Duration = Duration::from_secs(2);

/// Connects a tenth of the sessions, and then all. The growth between is that of the sessions.
pub(crate) fn measure(sessions: usize, directory: &Path) {
    raise_limit();
    let mut serving = Process::start(&["vendor"]);
    let vendor = serving.line();
    let mut rows = Vec::new();
    let journal = directory.join("idle");
    let words = [
        "gateway",
        &vendor,
        journal.to_str().expect("a path of letters"),
    ];
    for (name, words) in [
        ("bare relay", &["relay", vendor.as_str()][..]),
        ("gateway", &words),
    ] {
        let mut target = Process::start(words);
        let address = target.line();
        let mut open: Vec<_> = (0..sessions / 10 + 1)
            .map(|_| begin(&address, FUNCTIONS))
            .collect();
        std::thread::sleep(SETTLING);
        let before = target.memory();
        open.extend((0..sessions).map(|_| begin(&address, FUNCTIONS)));
        std::thread::sleep(SETTLING);
        let each = (target.memory() - before) / sessions as f64;
        rows.push(vec![
            name.to_owned(),
            sessions.to_string(),
            format!("{each:.1} KiB"),
            match name {
                "gateway" => table::verdict(each < TARGET_KIB),
                _ => String::new(),
            },
        ]);
    }
    let columns = ["", "sessions", "memory of each", "under 60 KiB"];
    table::print("An idle session without TLS", &columns, &rows);
}
