//! The gateway for clients of live models: `recount gateway`, and `[gateway]` of `recount serve`.
//!
//! The crate `recount-gateway` relays; this room configures it, listens for it, and checks tokens.
//!
//! Read `command` first, then `running`: the gateway from its start to its end. `settings` makes
//! its settings out of the configuration, `entrance` admits clients by their tokens, and
//! `overrides` has the options. `dry_run` counts what would have been held. `dev_certificate` is
//! the command of that name, and `authority` the certificates that it makes.

mod authority;
mod command;
mod dev_certificate;
mod dry_run;
mod entrance;
mod overrides;
mod running;
mod settings;

pub(crate) use command::Gateway;
pub(super) use overrides::Overrides;
pub(super) use running::{BoundGateway, RunningGateway};
pub(super) use settings::mistakes;
