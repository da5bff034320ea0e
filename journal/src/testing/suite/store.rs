//! The store under test, and the tests of it.

use std::sync::Arc;

use crate::{Journal, block_on};

/// Opens the journal of a name in the store under test. The first time, it is empty. Later the
/// journal of the same name is closed, and is opened again if it is
/// [durable](Journal::is_durable).
pub type Open<'o> = &'o dyn Fn(&str) -> Arc<dyn Journal>;

/// Closes a journal and opens it again. Returns the same journal if it is not durable.
///
/// # Panics
/// If the journal cannot be closed.
pub fn reopened(open: Open<'_>, name: &str, journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
    if !journal.is_durable() {
        return journal;
    }
    block_on(journal.close()).unwrap();
    // A store may hold its lock until its journal is dropped.
    drop(journal);
    open(name)
}

/// Makes a test of each check of [`testing::suite`](crate::testing::suite).
///
/// The argument is a function that runs a check with a store. Attributes before it are those of
/// each test, such as `#[ignore = "needs a server"]`.
#[macro_export]
macro_rules! journal_suite {
    ($(#[$attribute:meta])* $with:path) => {
        $crate::journal_suite! { @each [$(#[$attribute])*] $with,
            appends::[
                acknowledged_append_is_read_next
                broken_chain_is_rejected
                changes_of_one_append_apply_in_order
                closed_journal_returns_closed
                concurrent_writers_each_keep_their_stream
                racing_writers_one_is_acknowledged
                snapshot_is_the_last_one_or_missing
                stale_writer_gets_conflict
                wrong_append_writes_nothing
            ]
            exports::[
                export_has_objects_before_first_use
                export_has_root_of_followed_order
                one_stream_is_exported_with_its_indexes
            ]
            following::[
                buffered_append_is_committed
                concurrent_followers_see_one_order
                followed_lines_have_their_own_hashes
                follower_far_behind_sees_everything
                follower_waits_until_commit_or_close
            ]
            limits::[
                drafted_and_given_lines_are_equal
                lines_are_kept_byte_for_byte
                sizes_at_limit_are_stored
                unreadable_body_is_rejected_by_kind
                unreadable_envelope_is_rejected_by_kind
            ]
            same_answers::[answers_are_those_of_memory]
            sealing::[sealed_session_verifies_without_key swapped_bodies_do_not_open]
            spans::[many_spans_are_read_as_each_alone]
        }
    };
    (@each $attributes:tt $with:path, $($module:ident::[$($check:ident)*])*) => {
        $($crate::journal_suite! { @module $attributes $with, $module [$($check)*] })*
    };
    (@module $attributes:tt $with:path, $module:ident [$($check:ident)*]) => {
        $($crate::journal_suite! { @one $attributes $with, $module $check })*
    };
    (@one [$($attribute:tt)*] $with:path, $module:ident $check:ident) => {
        #[test]
        $($attribute)*
        fn $check() {
            $with($crate::testing::suite::$module::$check);
        }
    };
}
