//! The body of a listing: items and the cursor of the next page.

use axum::Json;
use serde::Serialize;

use crate::requests::Cursor;

/// The items of a page. `next` is the cursor of the next page, or null after the last one.
#[derive(Serialize)]
pub(crate) struct Listing<T> {
    items: Vec<T>,
    next: Option<String>,
}

impl<T> Listing<T> {
    /// A listing without further pages.
    pub(crate) fn whole(items: Vec<T>) -> Json<Listing<T>> {
        Listing::page(items, None)
    }

    /// A page of a listing.
    pub(crate) fn page(items: Vec<T>, next: Option<Cursor>) -> Json<Listing<T>> {
        let next = next.map(Cursor::text);
        Json(Listing { items, next })
    }
}
