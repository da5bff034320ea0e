//! A gateway for clients of the Gemini Live API: their calls get policies, approvals and a journal.
//!
//! A client connects to the [`Gateway`] instead of the vendor. Its messages pass unchanged. The
//! calls of the model are recorded, and held where a policy says so.

pub mod frames;

mod entrance;
mod gateway;
mod settings;

pub use entrance::{
    Admitted, Allowed, AnyCredential, ClientAddress, Entrance, Permission, Refused,
};
pub use gateway::{Gateway, StartError};
pub use settings::{Credentials, Settings, Upstream, VendorKey};
