//! Nothing: what this package is for stands in `tests/`.
