//! Requests to a running `recount serve` over a real socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::program::{Bench, Started};

/// A running service.
pub(crate) struct Web {
    pub(crate) program: Started,
    /// The line that it printed when it was ready.
    pub(crate) ready: Value,
    /// The name of the host in requests.
    pub(crate) host: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// Reads a response up to the end of the connection.
    pub(crate) fn read(mut from: impl Read) -> Reply {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Reply {
            status: status.unwrap_or_else(|| panic!("no response: {text:?}")),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of a header, in lower case.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut headers = self.head.lines().filter_map(|it| it.split_once(": "));
        let found = headers.find(|(it, _)| *it == name);
        found.map(|(_, value)| value).unwrap_or_default()
    }
}

/// The text of a request that closes its connection.
pub(crate) fn request(host: &str, line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let content = match body {
        "" => String::new(),
        _ => format!("content-type: application/json\r\ncontent-length: {length}\r\n"),
    };
    format!("{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}{content}\r\n{body}")
}

impl Web {
    /// Starts the service at a free port, with further arguments.
    pub(crate) fn start(bench: &Bench, arguments: &str) -> Web {
        Web::of(bench.start(&format!("serve --listen 127.0.0.1:0 --json {arguments}")))
    }

    /// Waits until a program with `--json` is ready.
    pub(crate) fn of(mut program: Started) -> Web {
        let ready: Value = serde_json::from_str(&program.until("{")).unwrap();
        let address = ready["address"].as_str().unwrap();
        Web {
            host: address.to_owned(),
            ready,
            program,
        }
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let address: std::net::SocketAddr =
            self.ready["address"].as_str().unwrap().parse().unwrap();
        TcpStream::connect(("127.0.0.1", address.port())).unwrap()
    }

    /// Sends a request. `headers` end with a line break each.
    pub(crate) fn send(&self, line: &str, headers: &str, body: &str) -> Reply {
        let mut stream = self.connect();
        let text = request(&self.host, line, headers, body);
        stream.write_all(text.as_bytes()).unwrap();
        Reply::read(stream)
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> Reply {
        self.send(&format!("GET {path}"), &bearer(token), "")
    }

    pub(crate) fn post(&self, token: &str, path: &str, body: &Value) -> Reply {
        self.send(&format!("POST {path}"), &bearer(token), &body.to_string())
    }

    /// The path and query of the link that logs in.
    pub(crate) fn login(&self) -> String {
        let (url, link) = (&self.ready["url"], &self.ready["link"]);
        let path = link.as_str().unwrap().strip_prefix(url.as_str().unwrap());
        path.unwrap().to_owned()
    }

    /// Asks the service to end with SIGTERM.
    #[cfg(unix)]
    pub(crate) fn ask_to_end(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        let pid = i32::try_from(self.program.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// A new token with these options.
pub(crate) fn token(bench: &Bench, options: &str) -> Value {
    let run = bench.run(&format!("token create {options} --json"));
    run.ends_with(0).json()
}

/// The text of a token.
pub(crate) fn secret(token: &Value) -> &str {
    token["token"].as_str().unwrap()
}
