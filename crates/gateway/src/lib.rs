//! A gateway for clients of the Gemini Live API: their calls get policies, approvals and a journal.
//!
//! A client connects to the [`Gateway`] instead of the vendor. Its messages pass unchanged. The
//! calls of the model are recorded, and held where a policy says so.
//!
//! Read `gateway` first: it answers handshakes. `relay` is the task of one client. `frames` reads
//! messages as text, `own_values` the headers for the gateway itself. `target` and `upstream` are
//! the way to the vendor, `outages` logs failures,
//! and `places` and `sessions` find the session of a client.

mod entrance;
mod frames;
mod gaps;
mod gateway;
mod handshake;
mod index;
mod outages;
mod own_values;
mod places;
mod relay;
mod sessions;
mod settings;
mod target;
mod upstream;

pub use entrance::{
    Admitted, Allowed, AnyCredential, ClientAddress, Entrance, Permission, Refused,
};
pub use gateway::{Gateway, StartError};
pub use settings::{Credentials, Settings, Upstream, VendorKey};
