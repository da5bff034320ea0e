//! A table in Markdown, ready for the README.

/// Prints a headline, column names and rows. Each column is as wide as its widest cell.
pub(crate) fn print(headline: &str, columns: &[&str], rows: &[Vec<String>]) {
    let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&names).chain(rows);
        let lengths = cells.filter_map(|row| row.get(column).map(|cell| cell.chars().count()));
        lengths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    println!("\n{headline}\n\n{}\n{}", line(&names), line(&rule));
    for row in rows {
        println!("{}", line(row));
    }
}

/// A whole number with commas between thousands.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The word for a target that was met or missed.
pub(crate) fn verdict(met: bool) -> String {
    if met { "met" } else { "missed" }.to_owned()
}
