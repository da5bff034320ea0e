//! The settings of a repair.

use std::fmt;
use std::sync::Arc;

use crate::Progress;
use crate::store::directory::claim::Others;
use crate::store::opening::settings::Settings;

/// Settings for a repair.
#[derive(Default)]
pub struct RepairOptions {
    pub(super) dry_run: bool,
    pub(super) settings: Settings,
}

impl RepairOptions {
    /// Only reports what would be done, and changes nothing.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self {
            dry_run: true,
            ..self
        }
    }

    /// What the system stream names as the program that repaired the journal.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.settings.program = program.into();
        self
    }

    /// Is told how much of the new log the index has, about once a mebibyte.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        self.settings.progress = Box::new(progress);
        self
    }

    /// Where the time of the record of the repair comes from, in microseconds since 1970.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Works in a directory that [`guard`](crate::guard()) refuses.
    #[must_use]
    pub fn insecure_directory(mut self) -> Self {
        self.settings.others = Others::Trusted;
        self
    }

    /// Is told of every change of the directory before it is made, so that a test can end the
    /// process there.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn steps(mut self, steps: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.settings.steps = Arc::new(steps);
        self
    }
}

impl fmt::Debug for RepairOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepairOptions")
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}
