//! The live export: a follower of the journal that sends spans to a collector.
//!
//! Read `exporter` first, then `follower`, the task behind it. `cursor` is the file with the place
//! where it continues, `tracers` the folds that it keeps, `sender` the requests. `settings` has the
//! address and the headers.

mod cursor;
mod exporter;
mod follower;
mod sender;
mod settings;
mod tracers;

pub use exporter::{ExportError, Exporter};
pub use settings::{Endpoint, Headers, Settings, UnfitEndpoint, UnfitHeaders};
