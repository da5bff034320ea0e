//! The spans of connections to the model.

use recount::session::{Connected, Disconnected, Fact, Seq, SpanOf, Timestamp};

use super::naming;
use super::tracer::Tracer;
use crate::span::{Attributes, Kind, Span};

/// A model and the service that provides it.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) name: String,
    /// The provider, as the conventions name it.
    pub(super) provider: &'static str,
    address: String,
    port: Option<u64>,
}

/// The connection that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenConnection {
    epoch: Seq,
    at: Timestamp,
}

/// The close codes of WebSocket for an end that is no error.
const USUAL_CODES: [u16; 2] = [1000, 1001];

impl Model {
    fn of(it: &Connected) -> Model {
        let (_, host) = it.endpoint.split_once("://").unwrap_or(("", &it.endpoint));
        let (address, port) = match host.rsplit_once(':') {
            Some((address, port)) => match port.parse() {
                Ok(port) => (address, Some(port)),
                Err(_) => (host, None),
            },
            None => (host, None),
        };
        let provider = if address.ends_with("generativelanguage.googleapis.com") {
            "gcp.gemini"
        } else if address.ends_with("aiplatform.googleapis.com") {
            "gcp.vertex_ai"
        } else {
            "gcp.gen_ai"
        };
        Model {
            name: naming::name(it.model.strip_prefix("models/").unwrap_or(&it.model)),
            provider,
            address: address.to_owned(),
            port,
        }
    }
}

impl Tracer {
    pub(super) fn connected(&mut self, it: &Connected, fact: &Fact, spans: &mut Vec<Span>) {
        // A connection replaces the one before, also if its end is not on record.
        self.end_connection(None, fact, spans);
        self.model = Some(Model::of(it));
        self.connection = Some(OpenConnection {
            epoch: fact.seq,
            at: fact.at,
        });
    }

    pub(super) fn disconnected(&mut self, it: &Disconnected, fact: &Fact, spans: &mut Vec<Span>) {
        let open = self.connection.filter(|open| open.epoch == it.epoch);
        if open.is_some() {
            self.end_connection(Some(it), fact, spans);
        }
    }

    /// Ends the connection of a process that is gone: the fold no longer has it.
    pub(super) fn end_connection_that_is_gone(&mut self, fact: &Fact, spans: &mut Vec<Span>) {
        let open = self.connection.map(|it| it.epoch);
        if open.is_some() && self.session.connection != open {
            self.end_connection(None, fact, spans);
        }
    }

    fn end_connection(&mut self, end: Option<&Disconnected>, fact: &Fact, spans: &mut Vec<Span>) {
        let (Some(open), Some(model)) = (self.connection.take(), &self.model) else {
            return;
        };
        let mut attributes = Attributes::default();
        self.add_common(&mut attributes);
        attributes.text("gen_ai.request.model", &*model.name);
        attributes.text("server.address", &*model.address);
        if let Some(port) = model.port {
            attributes.number("server.port", port);
        }
        let code = end.and_then(|it| it.code);
        if let Some(code) = code {
            attributes.number("recount.close_code", u64::from(code));
        }
        let is_lost = end.is_none_or(Disconnected::is_of_gone_process);
        let error = match code.filter(|it| !USUAL_CODES.contains(it)) {
            Some(code) => Some((code.to_string(), "the service ended the connection")),
            None if is_lost => {
                let kind = "process_gone".to_owned();
                Some((kind, "the process that held the connection is gone"))
            }
            None => None,
        };
        attributes.text_if_any("error.type", error.as_ref().map(|(kind, _)| kind.as_str()));
        spans.push(Span {
            name: format!("connection {}", model.name),
            kind: Kind::Client,
            attributes: attributes.done(),
            error: error.map(|(_, message)| message),
            ..self.span(SpanOf::Connection(open.epoch), open.at, fact)
        });
    }
}
