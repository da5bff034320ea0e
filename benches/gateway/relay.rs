//! The opponent: a relay that copies bytes and reads nothing.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::children::{answer_lines, raise_limit, say};

/// Relays to the vendor until input ends.
pub(crate) fn child(vendor: &str) {
    raise_limit();
    answer_lines(|words| unreachable!("{words:?} is nothing that a relay knows"));
    // As many threads as the gateway has.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        say(&listener.local_addr().expect("an address").to_string());
        while let Ok((client, _)) = listener.accept().await {
            let vendor = vendor.to_owned();
            tokio::spawn(async move { relay(client, &vendor).await });
        }
    });
}

async fn relay(mut client: TcpStream, vendor: &str) {
    let mut vendor = TcpStream::connect(vendor).await.expect("a vendor");
    client.set_nodelay(true).expect("a socket");
    vendor.set_nodelay(true).expect("a socket");
    // The end of a conversation may be an error.
    let _ = copy_bidirectional(&mut client, &mut vendor).await;
}
