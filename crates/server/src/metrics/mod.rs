//! Metrics: counters of requests and answers, and their text for Prometheus.

mod counters;
mod exposition;

pub(crate) use counters::{Counters, count};
pub(crate) use exposition::{CONTENT_TYPE, Exposition, Kind};
