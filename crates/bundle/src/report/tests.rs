//! Tests of the whole page.
