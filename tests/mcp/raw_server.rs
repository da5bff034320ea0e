//! A server that says what no library would: it answers with the JSON that it was told, letter by
//! letter.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Serves on standard input and output:
/// `{"raw": {"tools": [definitions], "answers": {tool: result}}}`. What has no answer gives back
/// the parameters of its call. A call of `slow` waits: one of `step` reports the progress that its
/// arguments say, and one of `finish` answers it.
pub(crate) fn serve(told: &Value) -> ! {
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/stdout")
        .unwrap();
    let mut slow = Value::Null;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let asked: Value = serde_json::from_str(&line).unwrap();
        let params = &asked["params"];
        match params["name"].as_str() {
            Some("slow") => {
                slow = asked;
                continue;
            }
            Some("step") => {
                let mut said = params["arguments"].clone();
                said["progressToken"] = slow["params"]["_meta"]["progressToken"].clone();
                let said =
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": said});
                writeln!(out, "{said}").unwrap();
            }
            Some("finish") => {
                let result = json!({"content": [{"type": "text", "text": "done"}]});
                let answer = json!({"jsonrpc": "2.0", "id": slow["id"], "result": result});
                writeln!(out, "{answer}").unwrap();
            }
            Some(_) | None => {}
        }
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": told["tools"]}),
            Some("tools/call") => match told["answers"].get(params["name"].as_str().unwrap()) {
                Some(answer) => answer.clone(),
                None => json!({"content": [], "structuredContent": params}),
            },
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        writeln!(out, "{answer}").unwrap();
    }
    std::process::exit(0);
}
