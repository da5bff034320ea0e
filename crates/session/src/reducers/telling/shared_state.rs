//! The state of a session: what was written to it last.
//!
//! A set of changes holds as a whole. A tool's changes count while its attempt runs; whoever is
//! recorded last wins.

use std::sync::Arc;

use crate::record::observation::{Author, StateChanged};
use crate::state::session::Session;
use crate::values::scope::Scope;

pub(crate) fn changed(session: &mut Session, it: &StateChanged) {
    if session.closed || !counts(session, &it.author) {
        return;
    }
    // A snapshot of before may be in a tool's hands.
    let state = Arc::make_mut(&mut session.state);
    for change in &it.changes {
        let (scope, key) = Scope::of(&change.key);
        match scope {
            // It is not on record; what stands there all the same changes nothing.
            Scope::Temp => {}
            Scope::Session | Scope::Turn | Scope::User if change.value.as_str() == "null" => {
                state.remove(key);
            }
            Scope::Session | Scope::Turn | Scope::User => {
                state.insert(key.to_owned(), change.value.clone());
            }
        }
    }
    super::phases::look_again(session);
}

/// Whether the author may still write.
fn counts(session: &Session, author: &Author) -> bool {
    match author {
        Author::Tool { call, attempt } => session
            .calls
            .get(call)
            .is_some_and(|call| call.run().is_some_and(|(runs, _)| runs == *attempt)),
        Author::Hook(_) | Author::Program(_) => true,
    }
}

/// The model's turn ended: what lived for the turn is gone.
pub(crate) fn turn_completed(session: &mut Session) {
    let of_turn = |key: &String| match Scope::of(key).0 {
        Scope::Turn => true,
        Scope::Session | Scope::User | Scope::Temp => false,
    };
    if session.state.keys().any(of_turn) {
        Arc::make_mut(&mut session.state).retain(|key, _| !of_turn(key));
    }
    super::phases::look_again(session);
}

#[cfg(test)]
#[path = "shared_state_tests.rs"]
mod tests;
