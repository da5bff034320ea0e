//! How far a long piece of work has come, on standard error where that is a terminal.

use std::io::{IsTerminal, Write};

use recount_journal::Progress;

/// A line that is drawn over and over, and is gone when the work is done.
pub(super) fn bar(doing: &'static str) -> impl Fn(Progress) + Send + 'static {
    let shown = std::io::stderr().is_terminal();
    move |Progress { done, total }| {
        if !shown {
            return;
        }
        let line = if done < total {
            format!("\r{doing}: {} %\u{1b}[K", percent(done, total))
        } else {
            "\r\u{1b}[K".to_owned()
        };
        // Nobody misses a line of progress.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

fn percent(done: u64, total: u64) -> u64 {
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    u64::try_from(percent).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_whole_and_never_overflow() {
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(u64::MAX - 1, u64::MAX), 99);
    }
}
