//! A route: from calls to sinks.

use std::collections::BTreeSet;
use std::time::Duration;

use super::filter::Filter;
use super::hours::Hours;
use crate::values::{Occasion, SinkName};

/// A route from calls to sinks.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// The sinks.
    pub sinks: Vec<SinkName>,
    /// The occasions, of those that a route may list ([`Occasion::LISTED`]).
    ///
    /// A request about a call in doubt is also one that is [asked](Occasion::Asked).
    pub occasions: BTreeSet<Occasion>,
    /// The calls.
    pub filter: Filter,
    /// The hours of the sinks. `None`: always.
    pub hours: Option<Hours>,
    /// The sinks outside of the hours.
    pub quiet: Vec<SinkName>,
    /// The time before its expiry at which a request that still waits is sent again.
    pub remind_before: Option<Duration>,
    /// The escalation of requests that still wait.
    pub escalation: Option<Escalation>,
}

/// The escalation of a request that still waits after some time.
#[derive(Clone, Debug)]
pub struct Escalation {
    /// The time since the request.
    pub after: Duration,
    /// The sinks.
    pub to: Vec<SinkName>,
}
