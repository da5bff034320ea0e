//! Who sits at this terminal, as the operating system knows it.

use super::failure::{Exit, Failure};
use crate::control::{os_user, wrong_with_name};
use crate::session::{Actor, Authentication};

/// Who answers: the user of this process, or a name that nobody checked.
pub(super) fn actor(name: Option<String>) -> Result<Actor, Failure> {
    match name {
        Some(name) => match wrong_with_name(&name) {
            Some(wrong) => Err(Failure::new("bad-request", wrong).exit(Exit::Usage)),
            None => Ok(Actor {
                name,
                authenticated_by: Authentication::None,
            }),
        },
        None => Ok(Actor::os_user(current()?)),
    }
}

/// The user that this process runs as.
pub(super) fn current() -> Result<String, Failure> {
    os_user::current().ok_or_else(|| {
        Failure::new(
            "unknown-user",
            "expected the user's name from the operating system, found none",
        )
        .advice("say who you are with --as NAME")
    })
}
