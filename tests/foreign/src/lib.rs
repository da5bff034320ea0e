//! An empty library; the tests of this package are in `tests/`.
