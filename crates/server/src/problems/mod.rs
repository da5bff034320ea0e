//! Problems: the bodies of responses that are no success, and the one table of their codes.
//!
//! Read `codes`, then `problem`; `errors` converts the errors of the library.

mod codes;
mod errors;
mod problem;
#[cfg(test)]
mod tests;

pub use codes::Code;
#[cfg(test)]
pub(crate) use problem::CONTENT_TYPE;
pub use problem::Problem;
