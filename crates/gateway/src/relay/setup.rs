//! The setup of a connection: the first message of the client.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::complaints::Complaint;
use super::ends::End;
use super::messages::like;
use super::session::Wanted;
use super::task::{Client, Relay};
use crate::frames::answering::answers;
use crate::frames::client::{ClientFrame, look, text_of};
use crate::frames::declaring::with_tools;
use crate::frames::setup::{Declared, Setup};
use crate::places::PlaceKey;
use crate::settings::Credentials;

/// The maximum time for the client's setup.
const SETUP_MAX: Duration = Duration::from_secs(30);

/// The refusal of a name and a handle that disagree.
pub(super) const NAME_AND_HANDLE: &str =
    "x-recount-session and the resumption handle lead to two sessions";

/// The maximum number of functions that a client may declare at a time.
const DECLARED_MAX: usize = 1_024;

/// The maximum size of these declarations, in bytes. They stay in memory while the client is
/// connected, several times over.
const DECLARED_BYTES: usize = 1 << 20;

impl Relay {
    /// Reads the setup and passes it on.
    pub(super) async fn setup(&mut self, client: &mut SplitStream<Client>) -> Result<(), End> {
        let first = async {
            loop {
                match client.next().await {
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(frame))) => return Err(End::Client(frame)),
                    Some(Ok(message)) => return Ok(message),
                    Some(Err(error)) => return Err(End::of_client(&error)),
                    None => return Err(End::Client(None)),
                }
            }
        };
        let late = End::Own(CloseCode::Policy, "expected a setup within 30 s");
        let message = timeout(SETUP_MAX, first).await.unwrap_or(Err(late))?;
        let unfit = |problem: &dyn std::fmt::Display| {
            self.complain(Complaint::Setup, 1, Some(problem));
            End::Own(CloseCode::Invalid, "expected a readable setup first")
        };
        let bytes = message.clone().into_data();
        let text = text_of(&bytes).map_err(|it| unfit(&it))?;
        if let ClientFrame::Malformed(problem) = look(&bytes) {
            return Err(unfit(&problem));
        }
        if !answers(text).is_empty() {
            return Err(unfit(&"expected no response to a call in a setup, got one"));
        }
        let setup = Setup::read(text).map_err(|it| unfit(&it))?;
        let (admitted, request) = (&self.request.admitted, &self.request);
        if !admitted.may_use(&request.agent, &request.labels, Some(&setup.model)) {
            let refused = "the token does not allow this agent or model";
            return Err(End::Own(CloseCode::Policy, refused));
        }
        self.may_declare(&setup.declared)?;
        let wanted = self.wanted(&setup);
        self.may_continue(&setup, &wanted)?;
        let hosted = self.hosted(&setup.model, &setup.declared);
        let with_hosted = with_tools(text, &hosted).map_err(|it| unfit(&it))?;
        let names = hosted.iter().filter_map(|it| it["name"].as_str());
        self.calls.hosted = names.map(str::to_owned).collect();
        self.calls.dry_run = self.shared.settings.dry_run;
        self.to_vendor.push(match hosted.is_empty() {
            true => message,
            false => like(&message, with_hosted),
        });
        self.model.clone_from(&setup.model);
        // A connection without a key gets a new session.
        self.calls.knows_earlier = wanted.places.is_empty();
        self.wanted = Some(wanted);
        Ok(())
    }

    /// Checks that the declarations are within the limits, and that the client may run calls of all
    /// tools that it declares.
    pub(super) fn may_declare(&self, declared: &[Declared]) -> Result<(), End> {
        let bytes: usize = declared.iter().map(Declared::bytes).sum();
        let functions = declared.len();
        let refused = match (functions > DECLARED_MAX, bytes > DECLARED_BYTES) {
            (true, _) => Some("expected at most 1024 declared functions"),
            (false, true) => Some("expected at most 1 MiB of declared functions"),
            (false, false) => None,
        };
        if let Some(refused) = refused {
            let found = format!("{refused}, found {functions} of {bytes} bytes");
            self.complain(Complaint::Declared, 1, Some(&found));
            return Err(End::Own(CloseCode::Policy, refused));
        }
        let (admitted, request) = (&self.request.admitted, &self.request);
        let may_run = |tool: &str| admitted.may_run(&request.agent, &request.labels, tool);
        let Some(refused) = declared.iter().find(|it| !may_run(&it.name)) else {
            return Ok(());
        };
        let reason = "the token does not allow a declared tool";
        let found = format!("{reason}: {:?}", refused.name);
        self.complain(Complaint::Declared, 1, Some(&found));
        Err(End::Own(CloseCode::Policy, reason))
    }

    /// The declarations of the agent's own tools, but for those whose name the client uses.
    pub(super) fn hosted(&self, model: &str, declared: &[Declared]) -> Vec<Value> {
        let (engine, request) = (&self.shared.engine, &self.request);
        let entries = engine.declared_tools(&request.agent, model, request.platform);
        let entries = entries.unwrap_or_default();
        let own: BTreeSet<&str> = declared.iter().map(|it| it.name.as_str()).collect();
        let functions = entries.into_iter().filter_map(|mut entry| {
            let functions = entry.get_mut("functionDeclarations").map(Value::take)?;
            match functions {
                Value::Array(functions) => Some(functions),
                _ => None,
            }
        });
        let is_free = |it: &Value| it["name"].as_str().is_some_and(|it| !own.contains(it));
        functions.flatten().filter(is_free).collect()
    }

    /// Checks that the vendor continues a conversation which the session of the connection has.
    fn may_continue(&self, setup: &Setup, wanted: &Wanted) -> Result<(), End> {
        let (index, settings) = (&self.shared.index, &self.shared.settings);
        let refused = |told: &'static str| {
            self.complain(Complaint::Elsewhere, 1, Some(&told));
            Err(End::Own(CloseCode::Policy, told))
        };
        if let (Some(handle), Credentials::Tokens { .. }) = (&setup.handle, &settings.credentials) {
            let credential = self.request.admitted.fingerprint();
            let is_own = index.has(PlaceKey::of_handle(credential, handle));
            // The vendor cannot check it: all clients come with one key.
            if !is_own && index.has(PlaceKey::of_any_handle(handle)) {
                return refused("the resumption handle is not one of this token");
            }
        }
        let sessions = wanted.places.iter().filter_map(|it| index.presumed(*it));
        match sessions.collect::<BTreeSet<_>>().len() > 1 {
            true => refused(NAME_AND_HANDLE),
            false => Ok(()),
        }
    }

    fn wanted(&self, setup: &Setup) -> Wanted {
        let request = &self.request;
        let mut places = Vec::new();
        if let Some(name) = &request.session {
            let scope = request.admitted.scope_of(&request.agent, &request.labels);
            places.push(PlaceKey::of_name(&scope, name));
        }
        if let Some(handle) = &setup.handle {
            let credential = request.admitted.fingerprint();
            places.push(PlaceKey::of_handle(credential, handle));
        }
        Wanted {
            agent: request.agent.clone(),
            admitted: request.admitted.clone(),
            places,
            labels: request.labels.clone(),
            external_id: request
                .external_id
                .clone()
                .or_else(|| request.session.clone()),
            on_behalf_of: request.on_behalf_of.clone(),
            model: setup.model.clone(),
            endpoint: request.endpoint.clone(),
            platform: request.platform,
            tools: setup.declared.clone(),
            resumed: setup.handle.clone(),
            claim: self.claim.clone(),
        }
    }
}
