//! The protocol: its messages, the capabilities of models, and the handshakes of each platform.

mod capabilities;
mod corpus;
mod handshakes;
mod messages;
