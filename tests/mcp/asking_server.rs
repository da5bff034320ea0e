//! A server that answers a call with questions, as later versions of the protocol allow.
//!
//! The servers of the MCP library do so only where such a version was negotiated, so this server
//! writes its own messages.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

/// The questions of the server, in order.
pub(crate) const QUESTIONS: [&str; 2] = ["Which table?", "How many chairs?"];

/// Serves on standard input and output until the client hangs up.
pub(crate) fn serve() {
    let mut output = File::options().write(true).open("/dev/stdout").unwrap();
    for line in BufReader::new(File::open("/dev/stdin").unwrap()).lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"},
            }),
            Some("tools/list") => {
                json!({"tools": [{"name": "book", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => called(&request["params"]),
            Some(_) | None => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        writeln!(output, "{answer}").unwrap();
    }
    std::process::exit(0);
}

/// Asks the first question without an answer. The state that returns with each answer holds the
/// earlier answers.
fn called(params: &Value) -> Value {
    let state = params["requestState"].as_str().unwrap_or("[]");
    let mut answers: Vec<Value> = serde_json::from_str(state).unwrap();
    answers.extend(params["inputResponses"].get("next").cloned());
    let Some(question) = QUESTIONS.get(answers.len()) else {
        return json!({"content": [], "structuredContent": {"answers": answers}});
    };
    input_required(question, &json!(answers).to_string())
}

/// A reply to a call that asks a question. The client sends `state` back with its answer.
pub(crate) fn input_required(question: &str, state: &str) -> Value {
    json!({
        "resultType": "input_required",
        "inputRequests": {"next": {"method": "elicitation/create", "params": {
            "mode": "form",
            "message": question,
            "requestedSchema": {"type": "object", "properties": {"table": {"type": "integer"}}},
        }}},
        "requestState": state,
    })
}
