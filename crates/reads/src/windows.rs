//! The reads that need no record of their own, because the same read is on record a moment before.
//!
//! A page that is open fetches itself again with every change, and a worker asks in a loop. Each of
//! them is one read with a number of repetitions. A session that was not on record in that time is
//! always recorded, unless the read was refused.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use recount::session::{SessionId, Timestamp};

use crate::bodies::{Place, Repeated};
use crate::read::Read;

/// The maximum number of windows. Further reads are recorded each time.
const WINDOWS_MAX: usize = 4_096;

/// The maximum number of sessions of a window. Reads of further ones are recorded each time.
const SESSIONS_MAX: usize = 10_000;

/// The windows of time that are open.
pub(crate) struct Windows {
    length: Duration,
    open: HashMap<String, Window>,
}

/// The reads of one reader at one route, from the first one on.
struct Window {
    first: Place,
    until: Timestamp,
    /// The sessions that are on record.
    sessions: HashSet<SessionId>,
    repeats: u64,
    last: Timestamp,
}

impl Window {
    fn repeated(self) -> Option<Repeated> {
        (self.repeats > 0).then_some(Repeated {
            of: self.first,
            times: self.repeats,
            last: self.last,
        })
    }
}

impl Windows {
    pub(crate) fn new(length: Duration) -> Windows {
        let open = HashMap::new();
        Windows { length, open }
    }

    /// Counts a read of which everything is on record, and returns true. Otherwise takes the
    /// sessions out of it that are.
    pub(crate) fn counts(&mut self, read: &mut Read, now: Timestamp) -> bool {
        let window = self.open.get_mut(&name(read));
        let Some(window) = window.filter(|it| now < it.until) else {
            return false;
        };
        // A sender can make up as many ids as it likes, so those of refusals get no record each.
        let refused = !read.is_served();
        if refused || read.sessions.iter().all(|it| window.sessions.contains(it)) {
            window.repeats += 1;
            window.last = window.last.max(now);
            return true;
        }
        read.sessions.retain(|it| !window.sessions.contains(it));
        false
    }

    /// Notes that a read is on record. Call [`ended`](Windows::ended) with the time before.
    pub(crate) fn recorded(&mut self, read: &Read, now: Timestamp, place: Place) {
        let name = name(read);
        if self.open.len() >= WINDOWS_MAX && !self.open.contains_key(&name) {
            return;
        }
        let until = now.after(self.length);
        let window = self.open.entry(name).or_insert_with(|| Window {
            first: place,
            until,
            sessions: HashSet::new(),
            repeats: 0,
            last: now,
        });
        let room = SESSIONS_MAX.saturating_sub(window.sessions.len());
        let sessions = read.sessions.iter().take(room);
        window.sessions.extend(sessions);
    }

    /// Ends the windows whose time is over, and returns the repetitions in them.
    pub(crate) fn ended(&mut self, now: Timestamp) -> Vec<Repeated> {
        let over = self.open.extract_if(|_, it| it.until <= now);
        over.filter_map(|(_, it)| it.repeated()).collect()
    }

    /// Ends all windows, and returns the repetitions in them.
    pub(crate) fn all(&mut self) -> Vec<Repeated> {
        let all = std::mem::take(&mut self.open).into_values();
        all.filter_map(Window::repeated).collect()
    }

    /// The time at which the next window ends.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.open.values().map(|it| it.until).min()
    }
}

/// The name of the window of a read: everything but its sessions.
fn name(read: &Read) -> String {
    let Read {
        by,
        how,
        door,
        route,
        sessions: _,
        every_session,
        depth,
        status,
    } = read;
    let parts = (by, how, door, route, every_session, depth, status);
    // Texts, numbers and names can always be written.
    serde_json::to_string(&parts).unwrap_or_default()
}
