//! The frame of a chart: its names, its grid and the times below it.

use maud::{Markup, html};

/// The height of the space above the plot, for the label of the topmost line.
pub(super) const TOP: f64 = 18.0;

/// The height of the plot, in pixels.
pub(super) const PLOT: f64 = 150.0;

/// The height of the space below the plot, for the times.
const BOTTOM: f64 = 22.0;

/// The names of a chart.
#[derive(Clone, Copy)]
pub(in crate::pages::figures) struct Labels<'t> {
    /// The id of the chart in the page.
    pub(in crate::pages::figures) id: &'t str,
    pub(in crate::pages::figures) title: &'t str,
    /// The description for readers who do not see the chart.
    pub(in crate::pages::figures) about: &'t str,
}

/// A chart of this height, in pixels.
pub(super) fn figure(labels: Labels<'_>, height: f64, drawing: &Markup) -> Markup {
    let Labels { id, title, about } = labels;
    html! {
        svg.chart id=(id) role="img" width="100%" height=(height)
            aria-labelledby={ (id) "-title " (id) "-desc" } {
            title id={ (id) "-title" } { (title) }
            desc id={ (id) "-desc" } { (about) }
            (drawing)
        }
    }
}

/// A chart over time: horizontal lines with their labels, the starts of the first interval and of
/// the middle one, and its end, which is now.
pub(super) fn over_time(
    labels: Labels<'_>,
    lines: &[(f64, String)],
    times: &[String],
    drawing: &Markup,
) -> Markup {
    let below = TOP + PLOT + 16.0;
    let named = [(0, "start", "0%"), (times.len() / 2, "middle", "50%")];
    let all = html! {
        @for (share, label) in lines {
            @let y = TOP + PLOT * (1.0 - share);
            line.grid x1="0%" x2="100%" y1=(y) y2=(y) {}
            text x="0" y=(y - 4.0) { (label) }
        }
        (drawing)
        @for (at, anchor, x) in named {
            @if let Some(time) = times.get(at) {
                text x=(x) y=(below) text-anchor=(anchor) { (time) }
            }
        }
        text x="100%" y=(below) text-anchor="end" { "now" }
    };
    figure(labels, TOP + PLOT + BOTTOM, &all)
}

/// A percentage of the width.
pub(super) fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { part / whole } else { 0.0 };
    format!("{:.3}%", share * 100.0)
}

/// The names of the colours of a chart.
pub(in crate::pages::figures) fn legend(entries: &[(&str, &str)]) -> Markup {
    html! {
        ul.legend {
            @for (class, name) in entries {
                li {
                    svg.swatch width="14" height="14" aria-hidden="true" {
                        rect class=(class) width="14" height="14" rx="3" {}
                    }
                    (name)
                }
            }
        }
    }
}
