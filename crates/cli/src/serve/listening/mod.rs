//! The listeners of a service: the connections, their encryption, and the socket of a proxy.
//!
//! Read `connections` first. `tls` has the certificate, `proxy_socket` the socket of a trusted
//! reverse proxy.

mod connections;
mod proxy_socket;
mod tls;

pub(super) use connections::{ConnectionLimits, Connections, Door, Encryption};
pub(super) use proxy_socket::{ProxySocket, mistake as proxy_mistake};
pub(super) use tls::Certificate;
