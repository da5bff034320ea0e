//! Functions that cannot be tools are rejected at the mistake, with an error that says what to do.

#[test]
fn what_cannot_be_a_tool_is_refused_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/refusals/*.rs");
}
