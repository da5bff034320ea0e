//! A process and the processes it has started, which are killed together.

use tokio::process::{Child, Command};

/// The process group of a leading process. It contains the processes that this one has started,
/// except those in a group of their own.
#[doc(hidden)]
pub struct ProcessGroup {
    /// The id of the leading process, which stays the group's id after that process has ended.
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Makes `command` start a process that leads a group. On systems without process groups this
    /// changes nothing.
    #[doc(hidden)]
    pub fn led_by(command: &mut Command) -> &mut Command {
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    /// Returns the group of a leading process that has not been waited for.
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

    /// Sends the group a request to end.
    #[doc(hidden)]
    pub fn ask_to_end(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    /// Kills the group.
    #[doc(hidden)]
    pub fn end(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            // The group may be empty already.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}
