//! What cannot be a tool is refused where it stands, in words that say what to do.

#[test]
fn what_cannot_be_a_tool_is_refused_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/refusals/*.rs");
}
