//! Tables, and lists of facts.

use maud::{Markup, html};

use super::values::number;

/// The number of things up to which each has an own block. More are rows of a table.
pub(in crate::report) const ROWS_MAX: usize = 200;

/// A table whose headings are repeated on each printed page. Headings that begin with `#` are those
/// of numbers.
pub(in crate::report) fn table(caption: &str, heads: &[&str], rows: Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for head in heads {
                            @match head.strip_prefix('#') {
                                Some(head) => th.number scope="col" { (head) },
                                None => th scope="col" { (head) },
                            }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// Names with their values, one below the other.
pub(in crate::report) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl {
            @for (name, value) in facts {
                dt { (name) }
                dd { (value) }
            }
        }
    }
}

/// The statement that a list was cut, if it was.
pub(in crate::report) fn more(all: usize, shown: usize) -> Markup {
    html! {
        @if all > shown {
            p { strong {
                "The first " (number(shown)) " of " (number(all)) " are shown. records.jsonl has "
                "all of them."
            } }
        }
    }
}
