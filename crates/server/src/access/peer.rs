//! The other end of a connection, as the program that accepts connections knows it.

use std::net::{IpAddr, Ipv6Addr};

/// The other end of the connection on which a request came.
///
/// The program that accepts connections adds it to the extensions of each request. No header can
/// say the same, so a client cannot either. Without it, requests count as those of one unknown
/// client, and headers of a proxy are ignored.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::{Extension, Router};
/// use recount::Engine;
/// use recount_server::{Access, Peer, ProxyHeaders, router};
///
/// let engine = Engine::in_memory().open().await?;
/// let proxy = ProxyHeaders::new("x-forwarded-user", "sso")?;
/// let app = router(engine, Access::none().with_proxy(proxy));
/// // Served on a Unix socket that only the proxy can open.
/// let on_socket: Router = app.layer(Extension(Peer::TrustedProxy));
/// # let _ = on_socket;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A client at this address.
    Address(IpAddr),
    /// The trusted reverse proxy, on a connection that no other program can open.
    TrustedProxy,
}

impl Peer {
    /// The part of the other end that limits count by. One site has a whole /64 of IPv6.
    pub(super) fn site(self) -> Peer {
        match self {
            Peer::Address(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
                Some(address) => Peer::Address(address.into()),
                None => {
                    let network = address.to_bits() & !u128::from(u64::MAX);
                    Peer::Address(Ipv6Addr::from_bits(network).into())
                }
            },
            Peer::Address(IpAddr::V4(_)) | Peer::TrustedProxy => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_site() {
        let site = |text: &str| Peer::Address(text.parse().unwrap()).site();
        assert_eq!(site("2001:db8::1"), site("2001:db8::ffff:2"));
        assert_ne!(site("2001:db8::1"), site("2001:db8:0:1::1"));
        assert_eq!(site("::ffff:192.0.2.1"), site("192.0.2.1"));
        assert_ne!(site("192.0.2.1"), site("192.0.2.2"));
    }
}
