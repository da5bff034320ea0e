//! The shared state of a session: the last value of each key.
//!
//! A set of changes applies as a whole. The changes of a tool count only while its attempt runs.
//! The last recorded write wins.

use std::sync::Arc;

use crate::record::observation::{Author, StateChanged};
use crate::state::session::Session;
use crate::values::scope::Scope;

pub(crate) fn changed(session: &mut Session, it: &StateChanged) {
    if session.closed || !counts(session, &it.author) {
        return;
    }
    // A tool may hold an earlier snapshot of the state.
    let state = Arc::make_mut(&mut session.state);
    for change in &it.changes {
        let (scope, key) = Scope::of(&change.key);
        match scope {
            // Temporary values are not recorded. One that is on record anyway changes nothing.
            Scope::Temp => {}
            Scope::Session | Scope::Turn | Scope::User if change.value.as_str() == "null" => {
                state.remove(key);
            }
            Scope::Session | Scope::Turn | Scope::User => {
                state.insert(key.to_owned(), change.value.clone());
            }
        }
    }
    super::phases::allow_transitions(session);
}

/// True if the author may still write.
fn counts(session: &Session, author: &Author) -> bool {
    match author {
        Author::Tool { call, attempt } => session
            .calls
            .get(call)
            .is_some_and(|call| call.run().is_some_and(|(runs, _)| runs == *attempt)),
        Author::Hook(_) | Author::Program(_) => true,
    }
}

/// Folds the end of the model's turn, which removes the values of turn scope.
pub(crate) fn turn_completed(session: &mut Session) {
    let of_turn = |key: &String| match Scope::of(key).0 {
        Scope::Turn => true,
        Scope::Session | Scope::User | Scope::Temp => false,
    };
    if session.state.keys().any(of_turn) {
        Arc::make_mut(&mut session.state).retain(|key, _| !of_turn(key));
    }
    super::phases::allow_transitions(session);
}

#[cfg(test)]
#[path = "shared_state_tests.rs"]
mod tests;
