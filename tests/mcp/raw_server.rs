//! A server that says what no library would: it answers with the JSON that it was told, letter by letter.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Serves on standard input and output: `{"raw": {"tools": [definitions], "answers": {tool: result}}}`. What has no
/// answer gives back the parameters of its call.
pub(crate) fn serve(told: &Value) -> ! {
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/stdout")
        .unwrap();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let asked: Value = serde_json::from_str(&line).unwrap();
        let params = &asked["params"];
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
