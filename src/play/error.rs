//! The errors of playing a fixture.

use crate::{engine, fixture, ledger};

/// An error of playing a fixture. A different outcome of the conversation is no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The conversation needs code of its program, which is not present.
    #[error(
        "the conversation cannot be played without its program: {what} is code; \
         play it in a test of the program"
    )]
    NeedsProgram {
        /// The part that is code.
        what: String,
    },
    /// The tokio runtime could not be built.
    #[error("failed to begin a runtime")]
    Runtime {
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The engine rejected the agent, or failed.
    #[error("failed to play the fixture")]
    Engine(#[from] engine::Error),
    /// The played session cannot be written with the redactions of the fixture.
    #[error("failed to tell what was played")]
    Fixture(#[from] fixture::Error),
    /// The journal of the play could not be read.
    #[error("failed to read what was played")]
    Ledger(#[from] ledger::Error),
}
