//! The gateway: as the program serves it without TLS, with a journal on disk.

use std::path::Path;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use recount::engine::{Agent, Engine};
use recount::tool::policy_file;
use recount_gateway::{AnyCredential, Gateway, Settings, Upstream};
use tokio::net::TcpListener;

use crate::children::{answer_lines, raise_limit, say};

/// A policy that holds a call and lets it through at once.
const POLICIES: &str = r#"{"tools": {"refund": {"limit_per_session": 1000000}}}"#;

/// Serves until input ends.
pub(crate) fn child(vendor: &str, journal: &str) {
    raise_limit();
    answer_lines(|words| unreachable!("{words:?} is nothing that a gateway knows"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(serve(vendor, Path::new(journal)));
}

async fn serve(vendor: &str, journal: &Path) {
    let policies = policy_file::parse(POLICIES).expect("policies");
    let agent = Agent::new().model("none").strict();
    let agent = agent.policies(policies).tools_from_clients();
    let engine = Engine::builder(journal)
        .agent("support", agent)
        .open()
        .await;
    let settings = Settings {
        upstream: Upstream::Url(format!("ws://{vendor}")),
        connections: 100_000,
        ..Settings::of_agent("support")
    };
    let engine = engine.expect("an engine");
    let gateway = Gateway::start(engine, settings, Arc::new(AnyCredential)).await;
    let router = gateway.expect("a gateway").router();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    say(&listener.local_addr().expect("an address").to_string());
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("a socket");
        let router = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), router);
        tokio::spawn(connection.with_upgrades());
    }
}
