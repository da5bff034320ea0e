//! The CPU use of other programs during a run. It slows two compared programs down by different
//! amounts.

use std::fs;
use std::time::Duration;

/// The share of CPU time of other programs above which figures are not worth recording.
const QUIET: f64 = 0.10;
/// The ticks of a second of CPU time, as Linux reports them to programs.
const TICKS_A_SECOND: f64 = 100.0;

/// CPU ticks since some start, as the kernel counts them.
#[derive(Debug)]
pub(crate) struct Neighbours {
    all: f64,
    busy: f64,
    ours: f64,
}

impl Neighbours {
    /// Begins a measurement.
    pub(crate) fn watch() -> Self {
        let read = |path: &str| fs::read_to_string(path).expect("Linux tells of processors");
        let ticks = |words: &str| -> Vec<f64> {
            let words = words.split_whitespace();
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let stat = read("/proc/stat");
        let processors = ticks(stat.lines().next().unwrap_or_default());
        let all = processors.iter().take(8).sum();
        // The fields user, nice, system and steal. Interrupts are left out, because most of them
        // come from the bench's own disk writes.
        let places = [0, 1, 2, 7];
        let busy = places.iter().filter_map(|place| processors.get(*place));
        let busy = busy.sum();
        let own = read("/proc/self/stat");
        let (_, own) = own.rsplit_once(") ").expect("a name in brackets");
        // The fields utime, stime, cutime and cstime: this process and its ended children. The
        // state before them is no number.
        let ours = ticks(own).iter().skip(10).take(4).sum();
        Self { all, busy, ours }
    }

    /// Prints the share of CPU time that other programs used since then.
    pub(crate) fn report(&self) {
        self.report_besides(Duration::ZERO);
    }

    /// Prints the same share, without the CPU time of a server that worked for the bench.
    pub(crate) fn report_besides(&self, served: Duration) {
        let now = Self::watch();
        let served = served.as_secs_f64() * TICKS_A_SECOND;
        let foreign = (now.busy - self.busy) - (now.ours - self.ours) - served;
        let share = (foreign / (now.all - self.all)).clamp(0.0, 1.0);
        let verdict = if share > QUIET {
            "too much for figures that mean anything"
        } else {
            "quiet enough"
        };
        println!(
            "\nOther work took {:.0} % of the processors meanwhile: {verdict}.",
            share * 100.0
        );
    }
}
