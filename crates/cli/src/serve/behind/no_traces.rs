//! The export of traces in a program without the feature `otel`: a collector is refused.

use crate::config::{Config, Mistake};
use crate::failures::Failure;
use recount::engine::Engine;

/// The export of a service that has none.
pub(in crate::serve) struct Traces;

/// The mistake of `[traces]`.
pub(in crate::serve) fn mistakes(config: &Config) -> Vec<Mistake> {
    let what = "this recount was built without the feature `otel`, so it sends no spans";
    let given = config.settings.traces.iter();
    given.map(|it| it.endpoint.mistake(what)).collect()
}

/// Starts nothing. The mistakes were reported before.
pub(in crate::serve) async fn start(_: &Config, _: &Engine) -> Result<Traces, Failure> {
    Ok(Traces)
}

impl Traces {
    pub(in crate::serve) async fn stop(self) {}
}
