//! A server that sends text that no library would send: given JSON letter by letter, or whole
//! frames.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Serves on standard input and output, as the configuration says.
///
/// The configuration is `{"raw": {"tools": [definitions], "answers": {tool: result}}}`. A tool
/// without an answer returns the parameters of its call. A call of `slow` waits. A call of `step`
/// reports progress of it with the given arguments, and a call of `finish` answers it.
///
/// A tool or a method under `frames` is answered with that text. In it `$ID` is the id of the
/// request and `$BAD` an invalid UTF-8 byte. `$LONG` is a text of 6 MB, and `$QUOTES` one of 10 MB
/// in quotes. The structured content of the last call is the client's last answer.
pub(crate) fn serve(told: &Value) -> ! {
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/stdout")
        .unwrap();
    let (mut slow, mut last) = (Value::Null, Value::Null);
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
        let Some(method) = asked["method"].as_str() else {
            let result = json!({"content": [], "structuredContent": asked});
            let answer = json!({"jsonrpc": "2.0", "id": last, "result": result});
            writeln!(out, "{answer}").unwrap();
            continue;
        };
        if method == "tools/call" {
            last = asked["id"].clone();
        }
        let name = params["name"].as_str().unwrap_or(method);
        if let Some(frame) = told["frames"][name].as_str() {
            out.write_all(&bytes(frame, &asked["id"])).unwrap();
            continue;
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

/// A frame with its placeholders replaced.
pub(crate) fn bytes(frame: &str, id: &Value) -> Vec<u8> {
    let frame = frame.replace("$ID", &id.to_string());
    let frame = frame.replace("$LONG", &"x".repeat(6_000_000));
    let frame = frame.replace("$QUOTES", &r#"\""#.repeat(5_000_000));
    let pieces: Vec<&[u8]> = frame.split("$BAD").map(str::as_bytes).collect();
    let mut bytes = pieces.join(&0xff);
    bytes.push(b'\n');
    bytes
}
