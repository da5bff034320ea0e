//! The reader of `recount.toml`: returns its settings, and every mistake.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::access::access;
use super::agent_reading;
use super::checkpoints::checkpoints;
use super::document::{self, Node};
use super::gateway::gateway;
use super::mistake::{Mistake, Place};
use super::notify;
use super::postgres::{journal, postgres};
use super::reads::reads;
use super::section::{Given, Mistakes, Section};
use super::settings::{KeySettings, LimitSettings, Settings, TlsSettings};
use super::traces::traces;

/// The keys of the file.
pub(super) const TOP: [&str; 16] = [
    "listen",
    "journal",
    "journal_env",
    "journal_file",
    "postgres",
    "keys",
    "tls",
    "access",
    "limits",
    "traces",
    "checkpoints",
    "gateway",
    "reads",
    "sinks",
    "routes",
    "agents",
];

/// The keys of `[keys]`.
pub(super) const KEYS: [&str; 2] = ["store", "master_key_file"];

/// The keys of `[tls]`.
pub(super) const TLS: [&str; 2] = ["certificate", "key"];

/// The keys of `[limits]`.
pub(super) const LIMITS: [&str; 10] = [
    "body_bytes",
    "body_time",
    "connections",
    "failures_per_minute",
    "grace",
    "head_time",
    "requests_per_second",
    "running_max",
    "streams",
    "waiting",
];

/// The expected form of an address.
pub(super) const ADDRESS: &str = "an address and a port such as \"127.0.0.1:7878\"";

/// Reads the text of the file at `path`.
pub(super) fn read(text: &str, path: &Path) -> (Settings, Vec<Mistake>) {
    let (whole, syntax) = document::read(text, &Place::file(path));
    let mistakes = Mistakes::new(syntax);
    let settings = match whole.table() {
        Some(table) => settings(&Section {
            field: String::new(),
            place: whole.place.clone(),
            table,
            mistakes: &mistakes,
            directory: path.parent().unwrap_or(Path::new("")),
        }),
        None => Settings::default(),
    };
    (settings, mistakes.into_inner())
}

fn settings(file: &Section<'_>) -> Settings {
    file.only(&TOP);
    let agents = file.named("agents").into_iter();
    let (sinks, routes) = (notify::sinks(file), notify::routes(file));
    let unknown = notify::unknown_sinks(&sinks, &routes);
    unknown.into_iter().for_each(|it| file.object(it));
    Settings {
        listen: file.value("listen", ADDRESS, address),
        journal: journal(file),
        postgres: postgres(file),
        keys: file.section("keys").and_then(|it| keys(&it)),
        tls: file.section("tls").map(|it| tls(&it)).unwrap_or_default(),
        access: file
            .section("access")
            .map(|it| access(&it))
            .unwrap_or_default(),
        limits: file
            .section("limits")
            .map(|it| limits(&it))
            .unwrap_or_default(),
        traces: file.section("traces").and_then(|it| traces(&it)),
        checkpoints: file.section("checkpoints").and_then(|it| checkpoints(&it)),
        gateway: file.section("gateway").map(|it| gateway(&it)),
        reads: file
            .section("reads")
            .map(|it| reads(&it))
            .unwrap_or_default(),
        sinks,
        routes,
        agents: agents
            .map(|(name, section)| (name, agent_reading::agent(&section)))
            .collect(),
    }
}

pub(super) fn address(node: &Node) -> Option<SocketAddr> {
    node.text()?.parse().ok()
}

fn keys(section: &Section<'_>) -> Option<KeySettings> {
    section.only(&KEYS);
    let master_key_file = section.path("master_key_file");
    Some(KeySettings {
        store: section.required("store", section.path("store"))?,
        master_key_file,
    })
}

pub(super) fn tls(section: &Section<'_>) -> TlsSettings {
    section.only(&TLS);
    let file = |key| -> Option<Given<PathBuf>> { section.required(key, section.path(key)) };
    TlsSettings {
        certificate: file("certificate"),
        key: file("key"),
    }
}

fn limits(section: &Section<'_>) -> LimitSettings {
    section.only(&LIMITS);
    LimitSettings {
        body_bytes: section.number("body_bytes", 1),
        connections: section.number("connections", 1),
        running_max: section.number("running_max", 1),
        grace: section.duration("grace"),
        head_time: section.positive("head_time"),
        body_time: section.positive("body_time"),
        requests_per_second: section.number("requests_per_second", 1),
        failures_per_minute: section.number("failures_per_minute", 1),
        streams: section.number("streams", 1),
        waiting: section.number("waiting", 1),
    }
}
