//! Requests of HTTP/1.1 over one connection that is kept open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A connection to the service, with a token.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    token: String,
}

impl Connection {
    pub(crate) fn open(address: &str, token: &str) -> Connection {
        let stream = TcpStream::connect(address).expect("a service");
        stream.set_nodelay(true).expect("a socket");
        Connection {
            stream: BufReader::new(stream),
            host: address.to_owned(),
            token: token.to_owned(),
        }
    }

    pub(crate) fn get(&mut self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// Gets a page, as a browser asks for it.
    pub(crate) fn page(&mut self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path}"), "accept: text/html\r\n", "")
    }

    pub(crate) fn post(&mut self, path: &str, headers: &str, body: &str) -> (u16, String) {
        let headers = format!("content-type: application/json\r\n{headers}");
        self.ask(&format!("POST {path}"), &headers, body)
    }

    /// Sends a request, and reads the status and the body of its response.
    fn ask(&mut self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            self.host,
            self.token,
            body.len(),
        );
        let stream = self.stream.get_mut();
        stream.write_all(request.as_bytes()).expect("a request");
        let mut status = String::new();
        self.stream.read_line(&mut status).expect("a response");
        let status = status.split(' ').nth(1).and_then(|it| it.parse().ok());
        let mut length = 0;
        loop {
            let mut header = String::new();
            self.stream.read_line(&mut header).expect("a header");
            let header = header.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        let body = String::from_utf8(body).expect("a text");
        (status.expect("a status"), body)
    }
}
