//! The automatic answers to approval requests, by the options of the command.

use clap::Args;

use crate::terminal::prompt;
use recount::session::About;

/// The options that answer requests without a person.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Alike {
    /// Approves every call that requires approval; a call that may have run already still waits for
    /// a person.
    #[arg(long, conflicts_with = "deny_all")]
    approve_all: bool,
    /// Denies every call that requires approval; a call that may have run already still waits for a
    /// person.
    #[arg(long)]
    deny_all: bool,
    /// Runs every call again that may have run already, so its effects may happen twice.
    #[arg(long, conflicts_with = "deny_doubt")]
    rerun_doubt: bool,
    /// Ends every call that may have run already: it does not run again, and its outcome stays
    /// unknown.
    #[arg(long)]
    deny_doubt: bool,
}

/// The treatment of requests, by their subject.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approvals {
    gates: Treatment,
    own: Treatment,
    doubts: Treatment,
}

/// The treatment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Every request gets the answer of this flag.
    Alike { confirmed: bool, flag: &'static str },
    /// The person at the terminal decides.
    Ask,
    /// The request waits in the journal.
    Park,
}

impl Approvals {
    /// The treatments by these options; a person answers the others if there is a terminal.
    pub(super) fn of(options: Alike) -> Approvals {
        let person = if prompt::is_interactive() {
            Treatment::Ask
        } else {
            Treatment::Park
        };
        let by = |yes: (bool, _), no: (bool, _)| match (yes, no) {
            ((true, flag), _) => Treatment::Alike {
                confirmed: true,
                flag,
            },
            (_, (true, flag)) => Treatment::Alike {
                confirmed: false,
                flag,
            },
            ((false, _), (false, _)) => person,
        };
        Approvals {
            gates: by(
                (options.approve_all, "recount run --approve-all"),
                (options.deny_all, "recount run --deny-all"),
            ),
            own: person,
            doubts: by(
                (options.rerun_doubt, "recount run --rerun-doubt"),
                (options.deny_doubt, "recount run --deny-doubt"),
            ),
        }
    }

    /// The treatment of a request. No option answers a tool's own question.
    pub(super) fn answer_to(self, about: About) -> Treatment {
        match about {
            About::Gate => self.gates,
            About::Tool => self.own,
            About::InDoubt => self.doubts,
        }
    }

    /// True if every request waits in the journal.
    pub(super) fn all_wait(self) -> bool {
        [self.gates, self.own, self.doubts] == [Treatment::Park; 3]
    }
}
