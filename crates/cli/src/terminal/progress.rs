//! How far long work has come, on standard error, when that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// How wide the bar is.
const CELLS: u64 = 24;

/// A bar that fills to 100 % and is gone when this is.
pub(crate) struct Meter {
    doing: &'static str,
    is_seen: bool,
    /// The percentage that stands there, and one more; 0 before the first.
    shown: AtomicU64,
}

impl Meter {
    /// Nothing is shown before the work takes its time.
    pub(crate) fn new(doing: &'static str) -> Meter {
        Meter {
            doing,
            is_seen: io::stderr().is_terminal(),
            shown: AtomicU64::new(0),
        }
    }

    /// Shows how much is done.
    pub(crate) fn show(&self, done: u64, total: u64) {
        if !self.is_seen {
            return;
        }
        let percent = percent(done, total);
        if self.shown.swap(percent + 1, Ordering::Relaxed) != percent + 1 {
            print(&format!("\r{} {}\u{1b}[K", self.doing, bar(percent)));
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.shown.load(Ordering::Relaxed) > 0 {
            print("\r\u{1b}[K");
        }
    }
}

/// What is waited for, in a line that is gone when this is.
#[cfg(feature = "mcp")]
pub(crate) struct Wait {
    is_seen: bool,
}

#[cfg(feature = "mcp")]
impl Wait {
    pub(crate) fn on(what: &str) -> Wait {
        let is_seen = io::stderr().is_terminal();
        if is_seen {
            print(&format!("\r{what} …\u{1b}[K"));
        }
        Wait { is_seen }
    }
}

#[cfg(feature = "mcp")]
impl Drop for Wait {
    fn drop(&mut self) {
        if self.is_seen {
            print("\r\u{1b}[K");
        }
    }
}

fn percent(done: u64, total: u64) -> u64 {
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    u64::try_from(percent).unwrap_or(100).min(100)
}

/// Such as `[######------------------] 25 %`.
fn bar(percent: u64) -> String {
    let cell = |number| {
        if number < percent * CELLS / 100 {
            '#'
        } else {
            '-'
        }
    };
    let cells: String = (0..CELLS).map(cell).collect();
    format!("[{cells}] {percent} %")
}

fn print(text: &str) {
    // Whoever cannot be shown it misses nothing.
    let mut out = io::stderr();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_one_whatever_is_counted() {
        assert_eq!(
            [(0, 0), (0, 9), (1, 3), (9, 9), (9, 3), (u64::MAX, u64::MAX)]
                .map(|(done, total)| percent(done, total)),
            [0, 0, 33, 100, 100, 100]
        );
    }

    #[test]
    fn a_bar_is_as_full_as_it_says() {
        let full = |percent| bar(percent).matches('#').count();
        assert_eq!([0, 3, 25, 99, 100].map(full), [0, 0, 6, 23, 24]);
        assert_eq!(bar(50), "[############------------] 50 %");
    }
}
