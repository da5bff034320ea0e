//! The export of traces to the collector of `[traces]`.

use std::time::Duration;

use crate::config::{Config, Mistake};
use crate::failures::Failure;
use crate::serve::secret_file::private_text;
use recount::engine::Engine;
use recount_traces::{Endpoint, Exporter, Headers, Settings, Source};

/// The file in the directory of the journal with the place where the export continues.
const CURSOR: &str = "traces.json";

/// The time for the last spans at the end. What is not sent by then is sent after the next start.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// The export of a service, if it has one.
pub(in crate::serve) struct Traces(Option<Exporter>);

/// The mistakes of `[traces]`.
pub(in crate::serve) fn mistakes(config: &Config) -> Vec<Mistake> {
    settings(config).err().into_iter().collect()
}

/// Starts the export.
pub(in crate::serve) async fn start(config: &Config, engine: &Engine) -> Result<Traces, Failure> {
    let settings =
        settings(config).map_err(|mistake| crate::config::wrong(config.name(), &[mistake]))?;
    let Some(settings) = settings else {
        return Ok(Traces(None));
    };
    let exporter = Exporter::start(engine.ledger().clone(), settings).await;
    let exporter = exporter.map_err(|error| Failure::new("traces", error.to_string()))?;
    Ok(Traces(Some(exporter)))
}

impl Traces {
    /// Sends what has ended until now, and stops.
    pub(in crate::serve) async fn stop(self) {
        if let Some(exporter) = self.0 {
            exporter.stop(LAST_SPANS).await;
        }
    }
}

fn settings(config: &Config) -> Result<Option<Settings>, Mistake> {
    let Some(given) = &config.settings.traces else {
        return Ok(None);
    };
    let endpoint = given.endpoint.value.parse::<Endpoint>();
    let endpoint = endpoint.map_err(|error| given.endpoint.mistake(error.to_string()))?;
    let headers = headers(config)?;
    if !headers.is_empty() && !endpoint.is_private() {
        let what = "expected an https URL, because the headers may have a token";
        return Err(given.endpoint.mistake(what));
    }
    let mut source = Source::default();
    if let Some(name) = &given.service_name {
        source.service_name.clone_from(&name.value);
    }
    Ok(Some(Settings {
        endpoint,
        headers,
        content: given.with,
        source,
        cursor: config.local().join(CURSOR),
    }))
}

/// The headers from the variable or from the file.
fn headers(config: &Config) -> Result<Headers, Mistake> {
    let Some(given) = &config.settings.traces else {
        return Ok(Headers::default());
    };
    if let Some(variable) = &given.headers_env {
        let text = std::env::var(&variable.value);
        let text = text.map_err(|_| variable.mistake("expected a variable with text"))?;
        let headers = text.parse::<Headers>();
        return headers.map_err(|error| variable.mistake(error.to_string()));
    }
    let Some(file) = &given.headers_file else {
        return Ok(Headers::default());
    };
    let text = private_text(file, "send spans")?;
    let headers = text.parse::<Headers>();
    headers.map_err(|error| file.mistake(error.to_string()))
}
