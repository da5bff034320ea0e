//! A column for each interval.

use maud::{Markup, html};

use super::figure::{Labels, PLOT, TOP, over_time, percent};

/// The share of an interval that its column fills.
const FILLED: f64 = 0.8;

/// The number of one interval.
pub(in crate::pages::figures) struct Column {
    /// The time of the interval, for the axis.
    pub(in crate::pages::figures) time: String,
    pub(in crate::pages::figures) value: u64,
}

/// A chart with a column for each interval.
pub(in crate::pages::figures) fn columns(labels: Labels<'_>, all: &[Column]) -> Markup {
    let largest = all.iter().map(|it| it.value).max().unwrap_or_default();
    let top = round_up(largest);
    let lines: Vec<(f64, String)> = match top {
        1 => vec![(0.0, "0".to_owned()), (1.0, "1".to_owned())],
        top => [0, top / 2, top]
            .into_iter()
            .map(|value| (value as f64 / top as f64, value.to_string()))
            .collect(),
    };
    let number = all.len() as f64;
    let drawing = html! {
        @for (at, column) in all.iter().enumerate() {
            @let height = PLOT * column.value as f64 / top as f64;
            @if height > 0.0 {
                rect.main x=(percent(at as f64 + (1.0 - FILLED) / 2.0, number))
                    width=(percent(FILLED, number)) y=(TOP + PLOT - height)
                    height=(height) rx="2" {}
            }
        }
    };
    let times: Vec<String> = all.iter().map(|it| it.time.clone()).collect();
    over_time(labels, &lines, &times, &drawing)
}

/// The least of 1, 2, 4, 6, 10, 20, 40, 60, 100, … that is not below the number. All but 1 can be
/// halved.
fn round_up(number: u64) -> u64 {
    if number <= 1 {
        return 1;
    }
    let mut unit: u64 = 1;
    loop {
        let steps = [2, 4, 6, 10].map(|it| unit.saturating_mul(it));
        if let Some(found) = steps.into_iter().find(|it| number <= *it) {
            return found;
        }
        unit = unit.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_ends_at_a_round_number() {
        let found = [0, 1, 2, 3, 5, 7, 11, 45, 61, 900].map(round_up);
        assert_eq!(found, [1, 1, 2, 4, 6, 10, 20, 60, 100, 1000]);
        assert_eq!(round_up(u64::MAX), u64::MAX);
    }

    #[test]
    fn column_has_the_height_of_its_number() {
        let labels = Labels {
            id: "open",
            title: "Open",
            about: "Open requests",
        };
        let column = |value| Column {
            time: "Jan 1".to_owned(),
            value,
        };
        let chart = columns(labels, &[column(0), column(1), column(2)]).into_string();
        assert_eq!(chart.matches("<rect").count(), 2, "{chart}");
        assert!(chart.contains(r#"height="75""#), "{chart}");
        assert!(chart.contains(r#"height="150""#), "{chart}");
        assert!(
            chart.contains("<title id=\"open-title\">Open</title>"),
            "{chart}"
        );
    }
}
