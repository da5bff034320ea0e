//! The protocol: its messages, what a model of it understands, and how each platform is reached.

#[path = "wire/capabilities.rs"]
mod capabilities;
#[path = "wire/corpus.rs"]
mod corpus;
#[path = "wire/handshakes.rs"]
mod handshakes;
#[path = "wire/messages.rs"]
mod messages;
