//! Approvals: the requests, the ways by which answers arrive, and the messages to the model
//! meanwhile.

mod asking;
mod desk;
mod gates;
mod quorum;
mod withholding;
