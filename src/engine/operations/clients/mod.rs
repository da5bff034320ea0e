//! The messages of ADK clients: answers and results for several calls at once.

mod messages;
mod responses;
