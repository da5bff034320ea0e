//! An agent prepared for serving sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::agent::Agent;
use super::extractors::Extractor;
use super::fixture::heard::HeardAs;
use super::hooks::AgentHooks;
use super::reconnects::Reconnects;
use crate::fixture::Recorder;
use crate::live::manner::Manner;
use crate::live::{Capabilities, Connector};
use crate::session::{Catalog, Gates, PolicySet};
use crate::tool::{ConfirmationProvider, ResultFormatter, Services, ToolDispatcher};

/// An agent that was checked.
pub(crate) struct Prepared {
    /// Records its sessions as fixtures.
    pub(in crate::engine) recorder: Option<Arc<Recorder>>,
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) instruction: Option<String>,
    pub(crate) capabilities: Capabilities,
    /// The functions for which the model does not wait.
    pub(in crate::engine) non_blocking: Arc<[String]>,
    pub(in crate::engine) withholds_input: bool,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) dispatcher: ToolDispatcher,
    /// True if some of its tools report their implementation.
    pub(in crate::engine) names_implementations: bool,
    pub(crate) connector: Option<Arc<dyn Connector>>,
    pub(crate) provider: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) gates: Gates,
    pub(crate) sealed: bool,
    pub(in crate::engine) reconnects: Reconnects,
    pub(in crate::engine) idle_fold_after: Duration,
    pub(in crate::engine) setup_timeout: Duration,
    pub(in crate::engine) extractors: Vec<Extractor>,
    pub(in crate::engine) services: Services,
    pub(in crate::engine) hooks: AgentHooks,
    pub(in crate::engine) manner: Manner,
    pub(in crate::engine) formatters: BTreeMap<String, Arc<dyn ResultFormatter>>,
    /// The tools that the client of a relayed connection declared. It checks their arguments.
    pub(in crate::engine) of_client: BTreeSet<String>,
    /// True if a program changed the tools of the session. Otherwise they are those of the agent
    /// and of a client, which declares them on each connection.
    pub(in crate::engine) is_changed: bool,
    pub(super) heard_as: Option<HeardAs>,
    /// The agent as it was given, for a change of its tools.
    pub(super) source: Box<Agent>,
}
