//! What keeps a fixture from being played.

use crate::{engine, fixture, ledger};

/// Why a fixture could not be played. What comes of the conversation is no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Code of the program took part, and it is not here.
    #[error(
        "the conversation cannot be played without its program: {what} is code; play it in a test of the program"
    )]
    NeedsProgram {
        /// What is code.
        what: String,
    },
    /// The runtime could not be made.
    #[error("failed to begin a runtime")]
    Runtime {
        /// What the system says.
        source: std::io::Error,
    },
    /// The engine does not take the agent, or failed.
    #[error("failed to play the fixture")]
    Engine(#[from] engine::Error),
    /// What was played cannot be told as the fixture tells.
    #[error("failed to tell what was played")]
    Fixture(#[from] fixture::Error),
    /// The journal of the play could not be read.
    #[error("failed to read what was played")]
    Ledger(#[from] ledger::Error),
}
