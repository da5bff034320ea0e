//! Tests of the program `recount` by its output and its exit codes.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "cli/answering.rs"]
mod answering;
#[path = "cli/answering_several.rs"]
mod answering_several;
#[cfg(feature = "serve")]
#[path = "cli/attacked.rs"]
mod attacked;
#[path = "cli/auditing.rs"]
mod auditing;
#[path = "cli/automatic_answers.rs"]
mod automatic_answers;
#[path = "cli/beside.rs"]
mod beside;
#[path = "cli/bundles.rs"]
mod bundles;
#[path = "cli/cancelling.rs"]
mod cancelling;
#[path = "cli/claiming.rs"]
mod claiming;
#[path = "cli/comparing.rs"]
mod comparing;
#[cfg(feature = "serve")]
#[path = "cli/configuring.rs"]
mod configuring;
#[path = "cli/copying.rs"]
mod copying;
#[path = "cli/damage.rs"]
mod damage;
#[path = "cli/databases.rs"]
mod databases;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/digits.rs"]
mod digits;
#[path = "../../../tests/support/door.rs"]
mod door;
#[path = "cli/doors.rs"]
mod doors;
#[cfg(feature = "serve")]
#[path = "cli/encrypting.rs"]
mod encrypting;
#[path = "cli/errors.rs"]
mod errors;
#[path = "cli/evidence.rs"]
mod evidence;
#[path = "cli/exit_codes.rs"]
mod exit_codes;
#[path = "cli/exported.rs"]
mod exported;
#[cfg(feature = "serve")]
#[path = "cli/fixture_terms.rs"]
mod fixture_terms;
#[path = "cli/fixtures.rs"]
mod fixtures;
#[path = "cli/full_disks.rs"]
mod full_disks;
#[cfg(feature = "serve")]
#[path = "cli/gateway.rs"]
mod gateway;
#[cfg(feature = "serve")]
#[path = "cli/gateway_clients.rs"]
mod gateway_clients;
#[path = "cli/given_files.rs"]
mod given_files;
#[path = "cli/holding.rs"]
mod holding;
#[path = "cli/hurt_exports.rs"]
mod hurt_exports;
#[cfg(all(feature = "serve", unix))]
#[path = "cli/identities.rs"]
mod identities;
#[path = "cli/ids.rs"]
mod ids;
#[cfg(all(feature = "postgres", feature = "serve"))]
#[path = "cli/in_database.rs"]
mod in_database;
#[path = "cli/json_keys.rs"]
mod json_keys;
#[path = "cli/json_shape.rs"]
mod json_shape;
#[path = "cli/later_rules.rs"]
mod later_rules;
#[path = "cli/leaves.rs"]
mod leaves;
#[path = "cli/looking.rs"]
mod looking;
#[cfg(all(feature = "serve", unix))]
#[path = "cli/notifying.rs"]
mod notifying;
#[path = "cli/operating.rs"]
mod operating;
#[path = "cli/others_write.rs"]
mod others_write;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/pausing.rs"]
mod pausing;
#[path = "cli/payloads.rs"]
mod payloads;
#[path = "../../../tests/frozen/pinned.rs"]
mod pinned;
#[path = "cli/platforms.rs"]
mod platforms;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/quorum.rs"]
mod quorum;
#[cfg(all(feature = "serve", unix))]
#[path = "cli/reads.rs"]
mod reads;
#[path = "cli/redacted.rs"]
mod redacted;
#[cfg(all(feature = "serve", unix))]
#[path = "cli/reloading.rs"]
mod reloading;
#[path = "cli/request_views.rs"]
mod request_views;
#[cfg(feature = "serve")]
#[path = "cli/reviewing.rs"]
mod reviewing;
#[path = "cli/sealing.rs"]
mod sealing;
#[path = "cli/service.rs"]
mod service;
#[cfg(feature = "serve")]
#[path = "cli/serving.rs"]
mod serving;
#[path = "cli/settling.rs"]
mod settling;
#[path = "cli/several_services.rs"]
mod several_services;
#[path = "cli/shipped.rs"]
mod shipped;
#[path = "cli/simulating.rs"]
mod simulating;
#[path = "cli/state.rs"]
mod state;
#[cfg(unix)]
#[path = "cli/stopping.rs"]
mod stopping;
#[cfg(target_os = "linux")]
#[path = "cli/terminal.rs"]
mod terminal;
#[cfg(feature = "serve")]
#[path = "cli/tokens.rs"]
mod tokens;
#[cfg(unix)]
#[path = "cli/traces.rs"]
mod traces;
#[path = "cli/unknown_kinds.rs"]
mod unknown_kinds;
#[path = "cli/verdicts.rs"]
mod verdicts;
#[cfg(feature = "serve")]
#[path = "cli/web.rs"]
mod web;
#[path = "cli/what_if.rs"]
mod what_if;
