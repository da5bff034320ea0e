//! The user at this terminal, as the operating system knows it.

use crate::failures::{Exit, Failure};
use crate::terminal::prompt;
use recount::control::{os_user, wrong_with_name};
use recount::session::Actor;

/// The actor of an answer: the user of this process, or a name whose identity is not verified.
///
/// At a terminal the actor is a person. In a script it may be a person or a program.
pub(crate) fn actor(name: Option<String>) -> Result<Actor, Failure> {
    let actor = match name {
        Some(name) => match wrong_with_name(&name) {
            Some(wrong) => return Err(Failure::new("bad-request", wrong).exit(Exit::Usage)),
            None => Actor::unverified(name),
        },
        None => Actor::os_user(current()?),
    };
    Ok(match prompt::is_interactive() {
        true => actor.as_person(),
        false => actor,
    })
}

/// The user of this process.
pub(crate) fn current() -> Result<String, Failure> {
    os_user::current().ok_or_else(|| {
        Failure::new(
            "unknown-user",
            "expected the user's name from the operating system, found none",
        )
        .advice("give your name with --as NAME")
    })
}
