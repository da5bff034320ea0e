//! The protocol: its messages, what a model of it understands, and how each platform is reached.

mod capabilities;
mod corpus;
mod handshakes;
mod messages;
