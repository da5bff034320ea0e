//! How a figure grows with the number of records: 1 is as fast as they do.

/// Above this a growth is called worse than linear; figures of one run differ by that much.
pub(crate) const LINEAR: f64 = 1.10;

/// The exponent of the power of the size that fits best, over all sizes or over the largest three,
/// whichever is larger.
///
/// A cost of each opening flattens the curve at small sizes; the largest sizes alone show what it
/// would hide.
pub(crate) fn exponent(points: &[(f64, f64)]) -> f64 {
    let largest = points
        .get(points.len().saturating_sub(3)..)
        .unwrap_or(points);
    slope(points).max(slope(largest))
}

/// Least squares on logarithms.
fn slope(points: &[(f64, f64)]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logarithms.len() as f64;
    let mean_x = logarithms.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logarithms.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = logarithms
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let variance: f64 = logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    covariance / variance
}

/// A bench that cannot tell growth apart proves none.
pub(crate) fn check() {
    let sizes = [1e4, 3e4, 1e5, 3e5, 1e6];
    let with = |cost: fn(f64) -> f64| exponent(&sizes.map(|size| (size, cost(size))));
    let linear = with(|size| 50.0 + 0.003 * size);
    let logarithmic = with(|size| 0.003 * size * size.log2());
    let late = with(|size| 50.0 + 3e-8 * size * size);
    let square = with(|size| 1e-6 * size * size);
    assert!(
        linear <= LINEAR && logarithmic <= LINEAR,
        "{linear} {logarithmic}"
    );
    assert!(late > LINEAR && square > LINEAR, "{late} {square}");
}
