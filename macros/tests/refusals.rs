//! Functions that cannot be tools are rejected at the mistake, with an error that says what to do.

#[test]
fn invalid_tools_are_rejected_at_the_mistake() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/refusals/*.rs");
}
