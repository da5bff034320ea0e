//! Times on a page: UTC in the text, from which the script makes the time of the viewer's zone.

use maud::{Markup, html};
use recount::session::Timestamp;
use recount_telling::age;

/// A time with its date.
pub(crate) fn moment(at: Timestamp) -> Markup {
    html! { time datetime=(age::stamp(at)) { (age::moment(at)) } }
}

/// A time by its distance from now, such as `3 min ago` or `in 4 min`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> Markup {
    let span = age::span(at, now);
    let text = if at > now {
        format!("in {span}")
    } else {
        format!("{span} ago")
    };
    html! {
        time datetime=(age::stamp(at)) title=(age::moment(at)) data-relative { (text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_utc_beside_them() {
        let (at, now) = (Timestamp(60_000_000), Timestamp(0));
        let ahead = relative(at, now).into_string();
        let text = r#"<time datetime="1970-01-01T00:01:00.000000Z""#;
        assert!(ahead.starts_with(text), "{ahead}");
        assert!(
            ahead.contains(r#"title="1970-01-01 00:01:00 UTC""#),
            "{ahead}"
        );
        assert!(ahead.ends_with(">in 1 min</time>"), "{ahead}");
        assert!(relative(now, at).into_string().contains(">1 min ago<"));
        assert!(
            moment(at)
                .into_string()
                .contains(">1970-01-01 00:01:00 UTC<")
        );
    }
}
