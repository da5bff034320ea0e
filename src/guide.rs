//! The pages of `docs/`: one for each kind of tool, and one for each topic. Their code is compiled
//! and run.

#[doc = include_str!("../docs/tools/functions.md")]
pub mod functions {}

#[doc = include_str!("../docs/tools/typed.md")]
pub mod typed {}

#[doc = include_str!("../docs/tools/streaming.md")]
pub mod streaming {}

#[doc = include_str!("../docs/tools/long-running.md")]
pub mod long_running {}

#[doc = include_str!("../docs/tools/client-run.md")]
pub mod client_run {}

#[doc = include_str!("../docs/tools/server-side.md")]
pub mod server_side {}

#[doc = include_str!("../docs/tools/defaults.md")]
pub mod defaults {}

#[cfg(feature = "mcp")]
#[doc = include_str!("../docs/tools/mcp.md")]
pub mod mcp {}

#[doc = include_str!("../docs/tools/agents.md")]
pub mod agents {}

#[doc = include_str!("../docs/tools/dispatcher.md")]
pub mod dispatcher {}

#[doc = include_str!("../docs/tools/policies.md")]
pub mod policies {}

#[doc = include_str!("../docs/tools/state.md")]
pub mod state {}

#[doc = include_str!("../docs/tools/phases.md")]
pub mod phases {}

#[doc = include_str!("../docs/tools/changing.md")]
pub mod changing {}

#[doc = include_str!("../docs/program-driven.md")]
pub mod program_driven {}

#[doc = include_str!("../docs/approvals.md")]
pub mod approvals {}

#[doc = include_str!("../docs/standing-leave.md")]
pub mod standing_leave {}

#[doc = include_str!("../docs/control.md")]
pub mod control {}

#[doc = include_str!("../docs/migration.md")]
pub mod migration {}

#[doc = include_str!("../docs/adk.md")]
pub mod adk {}

#[doc = include_str!("../docs/fixtures.md")]
#[cfg(feature = "testing")]
pub mod fixtures {}

#[doc = include_str!("../docs/testing.md")]
#[cfg(feature = "testing")]
pub mod testing {}

#[doc = include_str!("../docs/simulator.md")]
#[cfg(feature = "simulator")]
pub mod simulator {}
