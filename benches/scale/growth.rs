//! The growth of a figure with the number of records: an exponent of 1 is linear.

/// The exponent above which growth counts as worse than linear. Figures of one run vary by that
/// much.
pub(crate) const LINEAR: f64 = 1.10;

/// The exponent of the best-fitting power law. It is fitted over all sizes and over the largest
/// three, and the larger exponent is returned.
///
/// A fixed cost of each opening flattens the curve at small sizes. The fit over the largest sizes
/// shows growth that this would hide.
pub(crate) fn exponent(points: &[(f64, f64)]) -> f64 {
    let largest = points
        .get(points.len().saturating_sub(3)..)
        .unwrap_or(points);
    slope(points).max(slope(largest))
}

/// The slope of a least-squares fit on logarithms.
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

/// Checks that the fit recognizes growth, because otherwise the bench would prove nothing.
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
