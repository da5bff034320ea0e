//! The curves as a picture. Records are on the x axis and milliseconds on the y axis, both
//! logarithmic.

use std::fmt::Write;

/// A curve: its name and its points, in records and milliseconds.
pub(crate) type Curve = (String, Vec<(f64, f64)>);

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// The left, right, top and bottom margins.
const MARGINS: (f64, f64, f64, f64) = (84.0, 210.0, 40.0, 45.0);
/// The colours also differ in brightness, and the legend has the order of the curves.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#333333"];

/// The range of powers of ten that contains all values.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values.fold((f64::MAX, f64::MIN), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let (from, to) = (least.log10().floor(), most.log10().ceil());
    (from, to.max(from + 1.0))
}

/// Draws the curves. A dashed line shows linear growth.
pub(crate) fn draw(title: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let (x_from, x_to) = decades(points().map(|(x, _)| *x));
    let (y_from, y_to) = decades(points().map(|(_, y)| *y));
    let (left, right, top, bottom) = MARGINS;
    let x = |value: f64| left + (value.log10() - x_from) / (x_to - x_from) * (WIDTH - left - right);
    let y = |value: f64| {
        HEIGHT - bottom - (value.log10() - y_from) / (y_to - y_from) * (HEIGHT - top - bottom)
    };
    let font = r##"font-family="sans-serif" font-size="12" fill="#333""##;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {font}>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
<text x="{left}" y="22" font-size="14">{title}</text>
"##
    );
    // Writing into a string cannot fail.
    let mut line = |text: String| {
        let _infallible = writeln!(svg, "{text}");
    };
    for decade in y_from as i32..=y_to as i32 {
        let (value, end) = (10_f64.powi(decade), WIDTH - right);
        let at = y(value);
        let path = format!(r##"<path d="M{left:.0} {at:.1}H{end:.0}" stroke="#ddd"/>"##);
        line(format!(
            r#"{path}<text x="{:.0}" y="{:.1}" text-anchor="end">{value} ms</text>"#,
            left - 6.0,
            at + 4.0
        ));
    }
    for decade in x_from as i32..=x_to as i32 {
        let value = 10_f64.powi(decade);
        let (at, end) = (x(value), HEIGHT - bottom);
        let path = format!(r##"<path d="M{at:.1} {top:.0}V{end:.0}" stroke="#ddd"/>"##);
        line(format!(
            r#"{path}<text x="{at:.1}" y="{:.0}" text-anchor="middle">{value} records</text>"#,
            end + 18.0
        ));
    }
    // The line starts at the lower left corner, and rises one decade for each decade to the right.
    let span = (x_to - x_from).min(y_to - y_from);
    line(format!(
        r##"<path d="M{:.1} {:.1}L{:.1} {:.1}" stroke="#999" stroke-dasharray="5 4"/>"##,
        x(10_f64.powf(x_from)),
        y(10_f64.powf(y_from)),
        x(10_f64.powf(x_from + span)),
        y(10_f64.powf(y_from + span))
    ));
    let mut entry = top + 8.0;
    for ((name, points), colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let places = points.iter().map(|(px, py)| (x(*px), y(*py)));
        let path: Vec<String> = places
            .clone()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        line(format!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            path.join(" ")
        ));
        for (x, y) in places {
            line(format!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#
            ));
        }
        let at = WIDTH - right + 16.0;
        let (dot_y, text_x) = (entry - 4.0, at + 10.0);
        let dot = format!(r#"<circle cx="{at}" cy="{dot_y:.0}" r="4" fill="{colour}"/>"#);
        line(format!(
            r#"{dot}<text x="{text_x}" y="{entry:.0}">{name}</text>"#
        ));
        entry += 20.0;
    }
    line(format!(
        r##"<text x="{}" y="{entry:.0}" fill="#777">dashed: as the records grow</text>"##,
        WIDTH - right + 10.0
    ));
    svg.push_str("</svg>\n");
    svg
}
