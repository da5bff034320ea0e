//! The checks of all stores, with the journal in a database.

use std::cell::RefCell;
use std::collections::HashMap;

use recount_journal::testing::suite::Open;

use crate::place::Place;

mod in_postgres {
    recount_journal::journal_suite!(
        #[ignore = "needs PostgreSQL: run by .ci/postgres"]
        super::with_postgres
    );
}

/// Each journal of a check has a schema of its own.
fn with_postgres(check: fn(Open<'_>)) {
    let places: RefCell<HashMap<String, Place>> = RefCell::default();
    check(&|name| {
        let mut places = places.borrow_mut();
        let place = places.entry(name.to_owned()).or_insert_with(Place::new);
        place.node("suite")
    });
}
