//! A server that says what no library would: it answers with the JSON that it was told, letter by
//! letter, or with whole frames.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Serves on standard input and output:
/// `{"raw": {"tools": [definitions], "answers": {tool: result}}}`. What has no answer gives back
/// the parameters of its call. A call of `slow` waits: one of `step` reports the progress that its
/// arguments say, and one of `finish` answers it.
///
/// A call of a tool under `frames`, and a method there, is answered with that text. In it `$ID` is
/// the id of the request, `$BAD` a byte that is no UTF-8, `$LONG` a text of 6 MB and `$QUOTES` one
/// of 10 MB in quotes. What the client answers is the structured content of the last call.
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

/// A frame as it leaves.
pub(crate) fn bytes(frame: &str, id: &Value) -> Vec<u8> {
    let frame = frame.replace("$ID", &id.to_string());
    let frame = frame.replace("$LONG", &"x".repeat(6_000_000));
    let frame = frame.replace("$QUOTES", &r#"\""#.repeat(5_000_000));
    let pieces: Vec<&[u8]> = frame.split("$BAD").map(str::as_bytes).collect();
    let mut bytes = pieces.join(&0xff);
    bytes.push(b'\n');
    bytes
}
