//! The settings of a repair.

use std::fmt;
use std::sync::Arc;

use crate::Progress;
use crate::store::directory::claim::Others;
use crate::store::opening::settings::Settings;

/// The settings of a repair.
#[derive(Default)]
pub struct RepairOptions {
    pub(super) dry_run: bool,
    pub(super) settings: Settings,
}

impl RepairOptions {
    /// Reports the repair without changing anything.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self {
            dry_run: true,
            ..self
        }
    }

    /// Sets the name of the program, for the record of the repair in the system stream.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.settings.program = program.into();
        self
    }

    /// Sets a callback for the progress of the new index, called about once a mebibyte.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        self.settings.progress = Box::new(progress);
        self
    }

    /// Sets the clock for the record of the repair, in microseconds since 1970.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Allows a directory that [`guard`](crate::guard()) rejects.
    #[must_use]
    pub fn insecure_directory(mut self) -> Self {
        self.settings.others = Others::Trusted;
        self
    }

    /// Sets a callback for every change of the directory, called before it. A test can end the
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
