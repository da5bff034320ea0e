//! The requests of operators and of clients that run calls, to a running engine.
//!
//! It decides nothing: each request becomes an operation. Read `requests`; `answers` has the
//! requests that answer several, and `client_requests` those of clients.

mod answers;
mod client_requests;
mod requests;
