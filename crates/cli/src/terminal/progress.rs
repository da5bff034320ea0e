//! Progress bars on standard error, if that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// The width of the bar, in characters.
const CELLS: u64 = 24;

/// A progress bar. Dropping it removes the bar from the screen.
pub(crate) struct Meter {
    doing: &'static str,
    is_seen: bool,
    /// The percentage on the screen plus one; 0 before the first is shown.
    shown: AtomicU64,
}

impl Meter {
    /// A bar that shows nothing before the first [`show`](Self::show).
    pub(crate) fn new(doing: &'static str) -> Meter {
        Meter {
            doing,
            is_seen: io::stderr().is_terminal(),
            shown: AtomicU64::new(0),
        }
    }

    /// Shows the share that is done.
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

impl Meter {
    /// Removes the bar from the screen until it is shown again.
    pub(crate) fn hide(&self) {
        if self.shown.swap(0, Ordering::Relaxed) > 0 {
            print("\r\u{1b}[K");
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.hide();
    }
}

/// A line that names what the program waits for. Dropping it removes the line.
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

/// The bar, such as `[######------------------] 25 %`.
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
    // A bar that cannot be shown is no failure of the command.
    let mut out = io::stderr();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentage_is_at_most_100() {
        assert_eq!(
            [(0, 0), (0, 9), (1, 3), (9, 9), (9, 3), (u64::MAX, u64::MAX)]
                .map(|(done, total)| percent(done, total)),
            [0, 0, 33, 100, 100, 100]
        );
    }

    #[test]
    fn bar_is_as_full_as_its_percentage() {
        let full = |percent| bar(percent).matches('#').count();
        assert_eq!([0, 3, 25, 99, 100].map(full), [0, 0, 6, 23, 24]);
        assert_eq!(bar(50), "[############------------] 50 %");
    }
}
