//! Approvals: the requests, the ways by which answers arrive, and the messages to the model
//! meanwhile.

mod asking;
mod desk;
mod gates;
mod limits_of_asking;
mod quorum;
mod standing;
mod unanswered;
mod withholding;
