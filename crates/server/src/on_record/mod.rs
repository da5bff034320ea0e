//! The middleware that puts reads on record, and the classes of the routes.
//!
//! Read `classes` first, the table of the routes, then `keeping`, the middleware.

mod classes;
mod keeping;

pub(crate) use keeping::put_on_record;
