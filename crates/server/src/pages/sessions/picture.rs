//! The timeline of a session as a part of its page.

use maud::{Markup, PreEscaped, html};
use recount::session::{Fact, Seq, SessionId};
use recount_telling::timeline_svg::{LANES_MAX, Settings, picture};

use crate::pages::frame::Frame;

/// The timeline of the facts up to `before`, with a link to the calls before those that it shows.
pub(super) fn timeline(
    frame: &Frame,
    session: SessionId,
    facts: &[Fact],
    before: Option<Seq>,
) -> Markup {
    let end = facts.partition_point(|it| before.is_none_or(|before| it.seq < before));
    let facts = facts.get(..end).unwrap_or_default();
    let settings = Settings {
        name: "Timeline of the session",
        links: &|seq| Some(frame.links().record(session, seq)),
        lanes_max: LANES_MAX,
    };
    let picture = picture(facts, &settings);
    html! {
        // The picture escapes every text itself.
        (PreEscaped(picture.markup))
        p.pages {
            @if let Some(start) = picture.starts_at {
                a href={ "?before=" (start) "#timeline" } { "Earlier calls" }
            }
            @if before.is_some() {
                " " a href={ (frame.links().session(session)) "#timeline" } { "Newest calls" }
            }
        }
    }
}
