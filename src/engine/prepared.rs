//! An agent as its sessions are served by it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::extractors::Extractor;
use super::hooks::AgentHooks;
use super::reconnects::Reconnects;
use crate::fixture::Recorder;
use crate::live::manner::Manner;
use crate::live::{Capabilities, Connector};
use crate::session::{Catalog, Gates, PolicySet};
use crate::tool::{ConfirmationProvider, ResultFormatter, Services, ToolDispatcher};

/// An agent that was checked.
pub(crate) struct Prepared {
    /// Writes its sessions down as fixtures.
    pub(super) recorder: Option<Arc<Recorder>>,
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) instruction: Option<String>,
    pub(crate) capabilities: Capabilities,
    /// The functions for which the model does not wait.
    pub(super) non_blocking: Arc<[String]>,
    pub(super) withholds_input: bool,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) dispatcher: ToolDispatcher,
    /// Some of its tools say what they run.
    pub(super) names_implementations: bool,
    pub(crate) connector: Option<Arc<dyn Connector>>,
    pub(crate) provider: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) gates: Gates,
    pub(crate) sealed: bool,
    pub(super) reconnects: Reconnects,
    pub(super) idle_fold_after: Duration,
    pub(super) setup_timeout: Duration,
    pub(super) extractors: Vec<Extractor>,
    pub(super) services: Services,
    pub(super) hooks: AgentHooks,
    pub(super) manner: Manner,
    pub(super) formatters: BTreeMap<String, Arc<dyn ResultFormatter>>,
}
