//! A process and what it has started, which are ended together.

use tokio::process::{Child, Command};

/// The process group of a process that leads one: whatever that has started is in it, unless it
/// made a group of its own.
#[doc(hidden)]
pub struct ProcessGroup {
    /// The id of its first process, which the group keeps when that has ended.
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Has `command` start a process that leads a group. Where there are no groups it starts as any
    /// other.
    #[doc(hidden)]
    pub fn led_by(command: &mut Command) -> &mut Command {
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    /// The group of a process that was started so, if it has not been waited for.
    #[doc(hidden)]
    pub fn of(child: &Child) -> ProcessGroup {
        #[cfg(not(unix))]
        let _ = child;
        ProcessGroup {
            #[cfg(unix)]
            id: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
        }
    }

    /// Asks all in it to end.
    #[doc(hidden)]
    pub fn ask_to_end(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    /// Ends all in it.
    #[doc(hidden)]
    pub fn end(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            // Nobody may be left in it.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}
