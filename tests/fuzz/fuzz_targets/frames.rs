//! Reads any bytes as a frame. The ordinary test `tests/engine/wire/corpus.rs` does the same with
//! every file of the corpus.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| recount::testing::any_frame(bytes));
