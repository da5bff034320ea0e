#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use super::*;

fn read(text: &str) -> Result<Request, serde_json::Error> {
    serde_json::from_str(text)
}

#[test]
fn a_message_says_nothing_about_who_sends_it_and_nothing_unknown() {
    let session = "0199a000-0000-7000-8000-000000000001";
    assert!(read(r#"{"pending":{}}"#).is_ok());
    for unknown in [
        format!(r#"{{"answer":{{"request":"{session}","answer":{{}},"by":{{"name":"eve"}}}}}}"#),
        format!(r#"{{"log":{{"session":"{session}","until":3}}}}"#),
        r#"{"pending":{"all":true}}"#.to_owned(),
        r#"{"forget":{}}"#.to_owned(),
        r#"{"pending":{},"sessions":{}}"#.to_owned(),
    ] {
        assert!(read(&unknown).is_err(), "{unknown}");
    }
}

#[test]
fn what_is_left_out_of_a_log_has_its_usual_value() {
    let Ok(Request::Log { from, follow, .. }) =
        read(r#"{"log":{"session":"0199a000-0000-7000-8000-000000000001"}}"#)
    else {
        unreachable!("it is a request for a log")
    };
    assert_eq!((from, follow), (Seq(1), false));
}

#[test]
fn a_record_goes_over_byte_for_byte() {
    let text = r#"{"item":{"record":{"n": 1.10,"s":"\u00e9"}}}"#;
    let Ok(Reply::Item(item)) = serde_json::from_str(text) else {
        unreachable!("it is an item")
    };
    let item: LogItem = serde_json::from_str(item.get()).unwrap();
    assert_eq!(item.record.get(), r#"{"n": 1.10,"s":"\u00e9"}"#);
}
