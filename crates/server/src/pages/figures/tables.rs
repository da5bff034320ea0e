//! The tables below the charts: the same numbers as text.

use maud::{Markup, html};
use recount::session::Timestamp;

use super::numbers::{Ends, Group, Step};
use super::times::{Times, lasted};
use crate::pages::frame::{moment, said};

/// A table that scrolls on a narrow screen.
pub(super) fn table(label: &str, heads: &[&str], rows: Markup) -> Markup {
    html! {
        div.scroll.dense tabindex="0" role="region" aria-label=(label) {
            table {
                thead {
                    tr {
                        @for (at, head) in heads.iter().enumerate() {
                            th.number[at > 0] scope="col" { (head) }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// The table behind a summary, for one with many rows.
pub(super) fn folded(label: &str, heads: &[&str], rows: Markup) -> Markup {
    html! {
        details { summary { "The numbers" } (table(label, heads, rows)) }
    }
}

/// The rows of the intervals with the numbers that a chart has of each.
pub(super) fn steps(steps: &[Step], cells: impl Fn(&Step) -> Vec<String>) -> Markup {
    html! {
        @for step in steps {
            tr {
                th scope="row" { (moment(step.start)) }
                @for cell in cells(step) { td.number { (cell) } }
            }
        }
    }
}

/// The rows of tools or approvers. A cell of the first column is untrusted text.
pub(super) fn groups<'g>(
    groups: impl Iterator<Item = &'g (String, Group)>,
    cells: impl Fn(&Group) -> Vec<String>,
) -> Markup {
    html! {
        @for (name, group) in groups {
            tr {
                th scope="row" {
                    @if name.is_empty() { span.quiet { "unknown" } } @else { (said(name)) }
                }
                @for cell in cells(group) { td.number { (cell) } }
            }
        }
    }
}

/// The rows of how requests ended: the number of each end and its share.
pub(super) fn ends(ends: &Ends) -> Markup {
    let all = ends.all();
    let rows = [
        ("Allowed", ends.allowed),
        ("Denied", ends.denied),
        ("Settled", ends.settled),
        ("Expired", ends.expired),
        ("Allowed without an answer", ends.unanswered),
        ("Withdrawn", ends.withdrawn),
    ];
    html! {
        @for (name, number) in rows {
            tr {
                th scope="row" { (name) }
                td.number { (number) }
                td.number { (share(number, all)) }
            }
        }
    }
}

/// A share of a whole in percent.
pub(super) fn share(number: u64, all: u64) -> String {
    match all {
        0 => "–".to_owned(),
        all => format!("{:.1} %", number as f64 * 100.0 / all as f64),
    }
}

/// The median and the 95th percentile in words.
pub(super) fn both(times: &Times) -> [String; 2] {
    [times.median(), times.p95()].map(time)
}

/// A time in words, or a dash.
pub(super) fn time(us: Option<i64>) -> String {
    us.map_or_else(|| "–".to_owned(), lasted)
}

/// The time of an interval on the axis of a chart. Times in charts are UTC.
pub(super) fn on_axis(start: Timestamp, step_hours: i64) -> String {
    let at = chrono::DateTime::from_timestamp_micros(start.0).unwrap_or_default();
    let form = if step_hours < 24 {
        "%b %-d, %H:%M"
    } else {
        "%b %-d"
    };
    at.format(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_nothing_is_a_dash() {
        assert_eq!(share(0, 0), "–");
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(3, 3), "100.0 %");
    }

    #[test]
    fn axis_names_days_or_hours() {
        let at = Timestamp(1_800_000_000_000_000);
        assert_eq!(on_axis(at, 12), "Jan 15, 08:00");
        assert_eq!(on_axis(at, 24), "Jan 15");
    }
}
