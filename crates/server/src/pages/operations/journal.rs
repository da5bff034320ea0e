//! The health of the journal and of the service.

use maud::{Markup, html};
use recount_reads::Recorder;
use recount_telling::count;

use super::cells::section;
use crate::access::Role;
use crate::pages::frame::{Frame, said};
use crate::problems::Problem;
use crate::routes::Caller;

/// The health of the service. All but the first three are only read for a reader of all sessions.
pub(super) struct Health {
    /// The reason why the journal rejects records.
    unwritable: Option<String>,
    is_draining: bool,
    /// The recording of reads. `None` if reads are not recorded.
    reads: Option<recount_reads::Status>,
    whole: Option<Whole>,
}

/// The state of the whole service.
struct Whole {
    /// The number of sessions in the journal.
    sessions: usize,
    /// The free bytes of its disk, and those that stay free. `None` for a journal in memory.
    space: Option<(u64, u64)>,
    streams: usize,
    waits: usize,
    answers: u64,
}

impl Health {
    pub(super) async fn of(caller: &Caller) -> Result<Health, Problem> {
        let service = &caller.service;
        let writable = service.check_writable().await;
        let reads_everything = caller.principal.role_over_everything() >= Some(Role::Viewer);
        let whole = match reads_everything {
            false => None,
            true => Some(Whole {
                sessions: caller.ledger().session_heads().await?.len(),
                // A journal whose disk is gone cannot report it.
                space: match caller.ledger().journal().space() {
                    Ok(space) => space.map(|it| (it.free, it.floor)),
                    Err(_) => None,
                },
                streams: service.streams.taken(),
                waits: service.waits.taken(),
                answers: service.counters.answers(),
            }),
        };
        let reason = |error| Problem::from(error).detail().to_owned();
        Ok(Health {
            unwritable: writable.err().map(reason),
            is_draining: service.is_draining(),
            reads: service.reads.as_ref().map(Recorder::status),
            whole,
        })
    }

    /// The warning above everything else, if there is one.
    pub(super) fn warning(&self) -> Markup {
        html! {
            div id="warning" data-part {
                @if let Some(reason) = &self.unwritable {
                    p.banner.bad role="alert" { "The journal takes no records: " (reason) "." }
                }
                @if self.is_draining {
                    p.banner.ask role="alert" {
                        "The service is shutting down. It refuses every change; the next one takes "
                        "it."
                    }
                }
            }
        }
    }
}

pub(super) fn shown(frame: &Frame, health: &Health) -> Markup {
    let body = html! {
        dl.facts {
            dt { "Journal" }
            dd {
                @match health.unwritable {
                    None => span.badge.good { "takes records" },
                    Some(_) => span.badge.bad { "rejects records" },
                }
            }
            dt { "Service" }
            dd {
                @match health.is_draining {
                    false => span.badge.good { "takes requests" },
                    true => span.badge.ask { "shutting down" },
                }
            }
            dt { "Reads" }
            dd {
                (reads(health.reads.as_ref())) " "
                a href=(frame.links().to("reads")) { "Who read" }
            }
            @if let Some(whole) = &health.whole {
                dt { "Sessions in the journal" } dd { (whole.sessions) }
                dt { "Free on its disk" }
                dd {
                    @match whole.space {
                        Some((free, floor)) => {
                            (bytes(free)) ", of which " (bytes(floor)) " stay free"
                        },
                        None => "unknown: the journal is in memory, or its disk does not answer",
                    }
                }
                dt { "Streams to clients" } dd { (whole.streams) }
                dt { "Waiting requests" } dd { (whole.waits) }
                dt { "Answers over HTTP since the start" } dd { (whole.answers) }
            }
        }
    };
    section("health", "Journal and service", "", body)
}

/// The state of the recording of reads.
fn reads(status: Option<&recount_reads::Status>) -> Markup {
    html! {
        @match status {
            None => span.badge.ask { "not recorded" },
            Some(status) => {
                @match &status.error {
                    None => span.badge.good { "on record" },
                    Some(error) => { span.badge.bad { "cannot be recorded" } " " (said(error)) },
                }
                @if status.missed > 0 {
                    " " (count(status.missed, "read")) " without a record since the start"
                }
            }
        }
    }
}

/// A number of bytes in the unit that says most.
fn bytes(number: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(size, _)| number >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", number as f64 / size as f64),
        None => format!("{number} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_says_most() {
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(64 << 20), "64.0 MiB");
        assert_eq!(bytes(5 << 30), "5.0 GiB");
    }
}
