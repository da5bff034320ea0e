//! The journal contains no API key and no resumption handle.

use recount::journal::export;
use recount::live::Endpoint;
use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use recount::testing::Life;

use crate::restart::world::{World, is, wait};

const KEY: &str = "the-key-that-opens-the-service";
const HANDLE: &str = "the-handle-that-resumes-the-conversation";

#[test]
fn neither_an_api_key_nor_a_resumption_handle_is_in_the_journal() {
    let world = World::new();
    let greeting = format!(
        concat!(
            r#"{{"on": "setup", "send": [{{"sessionResumptionUpdate": {{"newHandle": "{HANDLE}", "#,
            r#""resumable": true}}}}]}}"#,
        ),
        HANDLE = HANDLE,
    );
    // The URL is known only once the runtime runs, so the agent is registered afterwards.
    let life = Life::begin(&world.journal, &world.clock, []);
    life.run(async {
        let script = Script::parse(&greeting).unwrap();
        let simulator = Simulator::start(script)
            .listen("127.0.0.1:0")
            .await
            .unwrap();
        let url = format!("{}/ws?key={KEY}", simulator.url());
        let agent = Agent::new().model("m").connect_to(Endpoint::url(url));
        life.engine().register("support", agent).unwrap();
        let mut updates = life.engine().subscribe();
        let _live = life.engine().session("support").connect().await.unwrap();
        updates
            .wait_for(is("resumption_handle_received"))
            .await
            .unwrap();
        simulator.shutdown().await;
    });
    life.end();
    let mut bytes = Vec::new();
    wait(export(&*world.journal, None, &mut bytes)).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.contains("resumption_handle_received") && text.contains("127.0.0.1"),
        "{text}"
    );
    assert!(!text.contains(KEY) && !text.contains(HANDLE), "{text}");
}
