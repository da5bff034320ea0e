//! The vendor: it accepts any setup, and speaks to each client that speaks to it.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::children::{answer_lines, raise_limit, say};
use crate::speaking::{Audio, Listener, Speaker};
use crate::websocket::{accept, read_message, setup_complete};

/// Serves until input ends.
pub(crate) fn child() {
    raise_limit();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let ears = Listener::to(&Audio::of_user());
    let speaker = Speaker::start(Audio::of_model());
    let (asked, spoken) = (ears.clone(), speaker.clone());
    answer_lines(move |words| match words {
        ["listen", from, to] => {
            let number = |word: &str| word.parse().expect("a time");
            asked.listen(number(from), number(to));
            spoken.latest();
            "listens".to_owned()
        }
        ["heard"] => asked.latencies().to_line(),
        ["latest"] => spoken.latest().as_micros().to_string(),
        other => unreachable!("{other:?} is nothing that a vendor knows"),
    });
    let (coming, mut came) = tokio::sync::mpsc::unbounded_channel();
    say(&address.to_string());
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let coming = coming.clone();
            // A relay connects to the vendor before its client has sent a setup.
            std::thread::spawn(move || coming.send(welcome(stream)));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        while let Some(stream) = came.recv().await {
            tokio::spawn(converse(stream, ears.clone(), speaker.clone()));
        }
    });
}

/// Completes the setup of a client.
fn welcome(mut stream: TcpStream) -> Arc<TcpStream> {
    accept(&mut stream);
    let setup = read_message(&mut stream);
    assert!(setup.contains("\"setup\""), "{setup}");
    stream.write_all(&setup_complete()).expect("a client");
    stream.set_nonblocking(true).expect("a socket");
    Arc::new(stream)
}

async fn converse(stream: Arc<TcpStream>, ears: Arc<Listener>, speaker: Arc<Speaker>) {
    let mut is_spoken_to = false;
    let heard = || {
        if !std::mem::replace(&mut is_spoken_to, true) {
            speaker.add(stream.clone());
        }
    };
    ears.read(&stream, heard).await;
    speaker.remove(&stream);
}
