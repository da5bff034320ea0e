//! Two times for each interval: the median as a dot, and a line up to the 95th percentile.

use maud::{Markup, html};

use super::figure::{Labels, PLOT, TOP, over_time, percent};

/// A second, in microseconds.
const SECOND: f64 = 1e6;

/// The lines of the scale, in microseconds. The scale is logarithmic: seconds and days fit on it.
const LINES: [(f64, &str); 11] = [
    (0.1 * SECOND, "0.1 s"),
    (SECOND, "1 s"),
    (10.0 * SECOND, "10 s"),
    (60.0 * SECOND, "1 min"),
    (600.0 * SECOND, "10 min"),
    (3_600.0 * SECOND, "1 h"),
    (21_600.0 * SECOND, "6 h"),
    (86_400.0 * SECOND, "1 day"),
    (604_800.0 * SECOND, "7 days"),
    (2_592_000.0 * SECOND, "30 days"),
    (31_536_000.0 * SECOND, "1 year"),
];

/// The times of one interval, in microseconds.
pub(in crate::pages::figures) struct Marks {
    /// The time of the interval, for the axis.
    pub(in crate::pages::figures) time: String,
    /// The median and the 95th percentile. `None` without a decision.
    pub(in crate::pages::figures) times: Option<(i64, i64)>,
}

/// A chart with the median and the 95th percentile of each interval.
pub(in crate::pages::figures) fn ranges(labels: Labels<'_>, all: &[Marks]) -> Markup {
    let scale = Scale::of(all);
    let number = all.len() as f64;
    let y = |us: i64| TOP + PLOT * (1.0 - scale.share(us as f64));
    let drawing = html! {
        @for (at, marks) in all.iter().enumerate() {
            @if let Some((median, p95)) = marks.times {
                @let x = percent(at as f64 + 0.5, number);
                line.reach x1=(x) x2=(x) y1=(y(median)) y2=(y(p95)) {}
                circle.far cx=(x) cy=(y(p95)) r="3.5" {}
                circle.main cx=(x) cy=(y(median)) r="4.5" {}
            }
        }
    };
    let times: Vec<String> = all.iter().map(|it| it.time.clone()).collect();
    over_time(labels, &scale.lines(), &times, &drawing)
}

/// The part of the lines that the times need.
struct Scale {
    from: usize,
    to: usize,
}

impl Scale {
    fn of(all: &[Marks]) -> Scale {
        let times = || all.iter().filter_map(|it| it.times);
        let least = times().map(|it| it.0).min().unwrap_or_default() as f64;
        let most = times().map(|it| it.1).max().unwrap_or_default() as f64;
        let last = LINES.len() - 1;
        let from = LINES.iter().rposition(|(us, _)| *us <= least);
        let from = from.unwrap_or_default().min(last - 1);
        let to = LINES.iter().position(|(us, _)| most <= *us).unwrap_or(last);
        Scale {
            from,
            to: to.max(from + 1),
        }
    }

    fn bounds(&self) -> (f64, f64) {
        let at = |line: usize| LINES.get(line).map_or(SECOND, |(us, _)| *us).ln();
        (at(self.from), at(self.to))
    }

    /// The place of a time between the lowest line, 0, and the highest, 1.
    fn share(&self, us: f64) -> f64 {
        let (low, high) = self.bounds();
        ((us.max(1.0).ln() - low) / (high - low)).clamp(0.0, 1.0)
    }

    fn lines(&self) -> Vec<(f64, String)> {
        let lines = LINES.get(self.from..=self.to).unwrap_or_default().iter();
        lines
            .map(|(us, label)| (self.share(*us), (*label).to_owned()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(times: Option<(i64, i64)>) -> Marks {
        Marks {
            time: "Jan 1".to_owned(),
            times,
        }
    }

    #[test]
    fn scale_has_the_lines_that_the_times_need() {
        let labels = |all: &[Marks]| -> Vec<String> {
            Scale::of(all).lines().into_iter().map(|it| it.1).collect()
        };
        assert_eq!(labels(&[marks(None)]), ["0.1 s", "1 s"]);
        let some = [marks(Some((20_000_000, 90_000_000)))];
        assert_eq!(labels(&some), ["10 s", "1 min", "10 min"]);
        let long = [marks(Some((i64::MAX, i64::MAX)))];
        assert_eq!(labels(&long), ["30 days", "1 year"]);
    }

    #[test]
    fn interval_without_a_decision_has_no_mark() {
        let labels = Labels {
            id: "times",
            title: "Times",
            about: "Times",
        };
        let all = [marks(None), marks(Some((1_000_000, 10_000_000)))];
        let chart = ranges(labels, &all).into_string();
        assert_eq!(chart.matches("<circle").count(), 2, "{chart}");
        // The second at the bottom of the scale, ten seconds at its top.
        assert!(chart.contains(r#"cx="75.000%" cy="168""#), "{chart}");
        assert!(chart.contains(r#"cx="75.000%" cy="18""#), "{chart}");
    }
}
