//! A recorded trace, split at each message of its client.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::standing::{Call, Standing, Told};

/// The end of a turn for the process of the recorded program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Process {
    /// The process continued.
    #[default]
    GoesOn,
    /// The process ended in good order, and another took over.
    IsReplaced,
    /// The process died.
    Dies,
}

/// A call of the model.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    /// The id of the call in the trace.
    pub(crate) id: String,
    /// The id that the model gave the call, if any.
    pub(crate) of_model: Option<String>,
    pub(crate) tool: String,
    pub(crate) args: Value,
    pub(crate) long_running: bool,
}

/// A turn: everything that follows one message of the client, or several simultaneous ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) messages: Vec<Value>,
    /// The model's calls during the turn, by frame.
    pub(crate) calls: Vec<Vec<Called>>,
    /// The projection at the end of the turn.
    pub(crate) standing: Standing,
    pub(crate) process: Process,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) turns: Vec<Turn>,
    /// The ids of confirmation requests, each with the id of its call.
    pub(crate) requests: BTreeMap<String, String>,
    /// The results of each tool, run by run.
    pub(crate) results: BTreeMap<String, Vec<Result<Value, String>>>,
    /// True if the trace shows when a tool ran.
    pub(crate) shows_runs: bool,
}

/// The tool with which ADK passes a conversation on. It is no tool of the application.
const OF_ADK: &str = "transfer_to_agent";
const REQUEST: &str = "adk_request_confirmation";
const WAITING: &str = "This tool call requires confirmation, please approve or reject.";
const REJECTED: &str = "This tool call is rejected.";

impl Trace {
    pub(crate) fn read(path: &Path) -> Trace {
        let text = fs::read_to_string(path).unwrap();
        let records: Vec<Value> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let shows_runs = records.iter().any(|it| it["kind"] == "tool_run")
            || records
                .iter()
                .all(|it| it["kind"] != "sse" && it["kind"] != "ws_send");
        let mut reading = Reading {
            trace: Trace {
                shows_runs,
                ..Trace::default()
            },
            ..Reading::default()
        };
        let mut before = "";
        for record in &records {
            reading.record(record, before);
            before = record["kind"].as_str().unwrap();
        }
        reading.end_turn();
        reading.trace
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Called> {
        self.turns
            .iter()
            .flat_map(|turn| turn.calls.iter().flatten())
    }
}

#[derive(Default)]
struct Reading {
    trace: Trace,
    turn: Turn,
    begun: bool,
    calls: Vec<Called>,
    /// The projection so far.
    standing: Standing,
    /// The tool that ran last, until its result or error is read.
    ran_last: Option<String>,
    /// The client's results in this turn. They count unless an error follows.
    supplied: Vec<(usize, Value)>,
}

impl Reading {
    fn record(&mut self, record: &Value, before: &str) {
        match record["kind"].as_str().unwrap() {
            "send" => {
                // Two consecutive messages were sent at the same time.
                if before != "send" {
                    self.end_turn();
                }
                self.begin(record.get("newMessage"));
            }
            "ws_send" if record["message"].get("content").is_some() => {
                self.end_turn();
                self.begin(Some(&record["message"]));
            }
            "sse" => {
                self.end_turn();
                self.begin(Some(&record["request"]));
                for frame in record["frames"].as_array().unwrap() {
                    if frame.get("error").is_some() {
                        self.supplied.clear();
                    }
                    self.event(frame);
                }
            }
            "event" | "ws_recv" => self.event(&record["event"]),
            "tool_run" => self.ran(record["tool"].as_str().unwrap()),
            "error" => self.supplied.clear(),
            "note" => self.note(record["text"].as_str().unwrap()),
            "meta" | "model_request" | "connect" | "to_model" | "end_of_stream" | "session"
            | "http" | "ws" | "ws_open" | "ws_send" | "ws_close" => {}
            other => unreachable!("unknown records of the kind {other:?}"),
        }
    }

    fn begin(&mut self, message: Option<&Value>) {
        self.begun = true;
        let Some(message) = message.filter(|it| !it.is_null()) else {
            return;
        };
        self.turn.messages.push(message.clone());
        for response in parts(message).filter_map(|part| part.get("functionResponse")) {
            let (id, name) = (&response["id"], &response["name"]);
            let call = self
                .calls
                .iter()
                .position(|call| call.id == *id && call.tool == *name);
            self.supplied
                .extend(call.map(|call| (call, response["response"].clone())));
        }
    }

    fn note(&mut self, text: &str) {
        if text.contains("stopped consuming the event stream") {
            self.turn.process = Process::Dies;
        } else if text.ends_with("exits") {
            self.turn.process = Process::IsReplaced;
        }
    }

    fn end_turn(&mut self) {
        if !std::mem::take(&mut self.begun) {
            return;
        }
        for (call, response) in std::mem::take(&mut self.supplied) {
            let call = &mut self.standing.calls[call];
            call.told = Some(Told::Result(response));
            call.paused = false;
            call.waits = false;
        }
        let mut turn = std::mem::take(&mut self.turn);
        turn.standing = self.standing.clone();
        self.trace.turns.push(turn);
    }

    fn ran(&mut self, tool: &str) {
        *self.standing.ran.entry(tool.to_owned()).or_default() += 1;
        self.ran_last = Some(tool.to_owned());
        let waiting = self.standing.calls.iter_mut();
        if let Some(call) = waiting.filter(|it| it.tool == tool && it.waits).last() {
            call.waits = false;
            call.decided = Some(true);
        }
        for (call, standing) in self.calls.iter().zip(&mut self.standing.calls) {
            if call.tool == tool && call.long_running && standing.told.is_none() {
                standing.paused = true;
            }
        }
    }

    fn event(&mut self, event: &Value) {
        let long_running = event["longRunningToolIds"].as_array();
        let long_running: Vec<&Value> = long_running.into_iter().flatten().collect();
        let mut called = Vec::new();
        for part in parts(event) {
            if let Some(call) = part.get("functionCall") {
                if call["name"] == REQUEST {
                    let about = &call["args"]["originalFunctionCall"]["id"];
                    self.asked(about.as_str().unwrap());
                    let (request, about) = (call["id"].as_str(), about.as_str());
                    self.trace
                        .requests
                        .insert(request.unwrap().to_owned(), about.unwrap().to_owned());
                } else {
                    called.push(self.called(call, long_running.contains(&&call["id"])));
                }
            } else if let Some(response) = part.get("functionResponse") {
                self.answered(response);
            }
        }
        let asked = event["actions"]["requestedToolConfirmations"].as_object();
        for about in asked.into_iter().flat_map(|asked| asked.keys()) {
            self.asked(about);
        }
        if let (Some(error), Some(tool)) = (event.get("errorMessage"), self.ran_last.take()) {
            let failed = Err(error.as_str().unwrap().to_owned());
            self.trace.results.entry(tool).or_default().push(failed);
        }
        if !called.is_empty() {
            self.turn.calls.push(called);
        }
    }

    fn called(&mut self, call: &Value, long_running: bool) -> Called {
        let id = call["id"].as_str().unwrap().to_owned();
        let tool = call["name"].as_str().unwrap().to_owned();
        let called = Called {
            // ADK makes ids with this prefix for calls without an id of the model.
            of_model: (!id.starts_with("adk-")).then(|| id.clone()),
            id,
            tool: tool.clone(),
            args: call["args"].clone(),
            long_running,
        };
        self.calls.push(called.clone());
        // If the trace does not show runs, a long-running tool starts when it is called.
        self.standing.calls.push(Call {
            tool,
            paused: long_running && !self.trace.shows_runs,
            ..Call::default()
        });
        called
    }

    fn asked(&mut self, about: &str) {
        let call = self.calls.iter().position(|call| call.id == about);
        let Some(call) = call.map(|at| &mut self.standing.calls[at]) else {
            return;
        };
        if !call.asked {
            call.asked = true;
            call.waits = true;
        }
    }

    fn answered(&mut self, response: &Value) {
        let id = &response["id"];
        let Some(at) = self.calls.iter().position(|call| call.id == *id) else {
            return;
        };
        let (response, call) = (&response["response"], &mut self.standing.calls[at]);
        if response["error"] == WAITING {
            return;
        }
        let is_news_of_asking = call.asked && call.decided.is_none() && self.ran_last.is_some();
        self.ran_last = None;
        if response["error"] == REJECTED {
            call.told = Some(Told::Denied);
            call.decided = Some(false);
            call.waits = false;
            return;
        }
        call.told = Some(Told::Result(response.clone()));
        if call.asked && !is_news_of_asking {
            call.decided = Some(true);
            call.waits = false;
        }
        let results = self.trace.results.entry(call.tool.clone()).or_default();
        results.push(Ok(response.clone()));
    }
}

/// The parts of a message or an event.
fn parts(of: &Value) -> impl Iterator<Item = &Value> {
    let content = ["newMessage", "content"].iter().find_map(|key| of.get(key));
    content.unwrap_or(of)["parts"]
        .as_array()
        .into_iter()
        .flatten()
}

/// True if a tool belongs to the application.
pub(crate) fn is_of_application(tool: &str) -> bool {
    tool != OF_ADK
}
