//! A file of policies, in TOML or JSON, which replaces policies of an agent's code.
//!
//! ```toml
//! timeout = "30s"                    # of calls that the model waits for
//! running_max = 4                    # how many calls of a session may run at the same time
//! calls_per_message_max = 128        # how many calls one message of the model may bring
//! open_calls_max = 1000              # how many calls of a session may be open at the same time
//! max_open_requests = 20             # how many of them may wait for a person
//! answers_per_minute = 6             # how many approvals one person may give in a minute
//! acknowledge_after = "10s"          # how long a call waits before the model is told so
//!
//! [defaults]                         # for every tool
//! limit_per_session = 100
//!
//! [tools.refund]                     # for this one, over the defaults
//! confirm = "Refund this order?"     # or true; false: no approval
//! confirm_when = { compares = ["args:cents", ">", 1000] }
//! confirm_expires_after = "10m"
//! confirm_on_expiry = "deny"         # or "allow": it then runs although no person allowed it
//! max_open_requests = 3              # how many calls of the tool may wait for a person
//! timeout = "10s"
//! limit_per_minute = 3
//! phases = ["negotiate"]
//! when = { is_true = "identity_verified" }
//!
//! [[phases]]                         # all of them, in place of those that the agent has
//! name = "verify"
//! instruction = "Verify the caller."
//! tools = ["verify_identity"]
//! transitions = [{ to = "negotiate", when = { is_true = "identity_verified" } }]
//!
//! [[phases]]
//! name = "negotiate"
//! ```
//!
//! Policies that the file does not name stay as they are. A value replaces the one in the code, and
//! `false` removes it.
//!
//! * `recount policy schema` prints the JSON Schema (`docs/policy.schema.json`).
//! * `recount policy check FILE` lists the mistakes of a file.
//! * `recount replay PATH --policy FILE` shows what the file would have changed.

mod acknowledging;
mod approving;
mod expiring;
pub(crate) mod keys;
mod mistake;
mod phases;
mod places;
mod reading;
mod standing;
#[cfg(not(feature = "toml"))]
#[path = "no_toml.rs"]
mod toml_text;
#[cfg(feature = "toml")]
pub(crate) mod toml_text;

pub use mistake::{PolicyFileError, PolicyMistake};
pub use reading::{parse, schema};
