use super::*;
use crate::live::wire::{CallRead, ServerMessage};

const TO: &str = r#"{"name":"pay","partialArgs":[{"jsonPath":"$.to","stringValue":"bob"}],
    "willContinue":true}"#;
const CENTS: &str = r#"{"name":"pay","partialArgs":[{"jsonPath":"$.cents","numberValue":999}],
    "willContinue":true}"#;
const CENTS_LAST: &str =
    r#"{"name":"pay","partialArgs":[{"jsonPath":"$.cents","numberValue":999}]}"#;
const START: &str = r#"{"name":"pay","willContinue":true}"#;
const WHOLE: &str = r#"{"name":"pay","args":{"cents":999}}"#;
const END: &str = r#"{"name":"pay"}"#;

/// Adds the calls of a frame and returns the complete ones.
fn take(streamed: &mut Streamed, calls: &str) -> Vec<Whole> {
    let frame = format!(r#"{{"toolCall":{{"functionCalls":{calls}}}}}"#);
    let message = ServerMessage::decode(&frame).unwrap();
    let calls = message.tool_call.unwrap().function_calls.into_vec();
    let list: Vec<_> = calls.iter().cloned().map(CallRead::Call).collect();
    streamed.begin_list(&list);
    let taken = calls.into_iter().map(|it| streamed.take(it, None));
    taken.flatten().collect()
}

/// The calls of these lists, each as its arguments or its fault.
fn outcomes(streamed: &mut Streamed, lists: &[&str]) -> Vec<Result<String, String>> {
    let taken = lists.iter().flat_map(|list| take(streamed, list));
    let outcome = |(call, problem): Whole| match problem {
        Some(problem) => Err(problem),
        None => Ok(call
            .args
            .map_or_else(String::new, |it| it.as_str().to_owned())),
    };
    taken.map(outcome).collect()
}

/// The arguments, or the fault, of a call that arrives in these pieces.
fn whole(pieces: &[&str]) -> Result<String, String> {
    let mut streamed = Streamed::default();
    let mut whole = Vec::new();
    for piece in pieces {
        assert!(whole.is_empty(), "it was whole before {piece}");
        whole = take(&mut streamed, piece);
    }
    assert!(!streamed.is_open());
    let (call, problem) = whole.pop().unwrap();
    assert_eq!(call.name.as_deref(), Some("a"));
    match problem {
        None => Ok(call.args.unwrap().as_str().to_owned()),
        Some(problem) => Err(problem),
    }
}

/// The arguments from the pieces of one frame.
fn parts(parts: &str) -> Result<String, String> {
    whole(&[&format!(
        r#"[{{"id":"i","name":"a","partialArgs":{parts}}}]"#
    )])
}

#[test]
fn fragments_are_one_call_once_none_follows() {
    let first = r#"[{"id":"i","name":"a","partialArgs":[
        {"jsonPath":"$.city","stringValue":"Par","willContinue":true}],"willContinue":true}]"#;
    let second = r#"[{"id":"i","partialArgs":[{"jsonPath":"$.city","stringValue":"is"},
        {"jsonPath":"$.n","numberValue":9007199254740993.0},{"jsonPath":"$.yes","boolValue":true},
        {"jsonPath":"$['no thing']","nullValue":"NULL_VALUE"}],"willContinue":true}]"#;
    let args = whole(&[first, second, r#"[{"id":"i"}]"#]).unwrap();
    let expected = r#"{"city":"Paris","n":9007199254740993.0,"no thing":null,"yes":true}"#;
    assert_eq!(args, expected);
}

#[test]
fn fragments_of_several_ids_may_be_interleaved() {
    let mut streamed = Streamed::default();
    let part = |id: &str, text: &str, more: bool| {
        format!(
            r#"{{"id":"{id}","name":"f","willContinue":{more},"partialArgs":[
            {{"jsonPath":"$.t","stringValue":"{text}","willContinue":{more}}}]}}"#
        )
    };
    let both = format!("[{},{}]", part("a", "1", true), part("b", "2", true));
    assert!(take(&mut streamed, &both).is_empty());
    let both = format!("[{},{}]", part("b", "3", false), part("a", "4", false));
    let texts = take(&mut streamed, &both).into_iter();
    let texts: Vec<_> = texts
        .map(|(it, _)| it.args.unwrap().as_str().to_owned())
        .collect();
    assert_eq!(texts, [r#"{"t":"23"}"#, r#"{"t":"14"}"#]);
}

#[test]
fn fragments_without_id_and_name_belong_to_the_newest() {
    let args = whole(&[
        r#"[{"name":"a","willContinue":true}]"#,
        r#"[{"partialArgs":[{"jsonPath":"$.l[0].x","numberValue":"50"}],"willContinue":true}]"#,
        r#"[{"partialArgs":[{"jsonPath":"$.l[1]","stringValue":""}],"willContinue":true}]"#,
        "[{}]",
    ]);
    assert_eq!(args.unwrap(), r#"{"l":[{"x":50},""]}"#);
}

#[test]
fn arguments_that_came_whole_grow() {
    let args = whole(&[
        r#"[{"id":"i","name":"a","args":{"a":{"n":1.0}},"willContinue":true}]"#,
        r#"[{"id":"i","partialArgs":[{"jsonPath":"$.a.b","boolValue":false}]}]"#,
    ]);
    assert_eq!(args.unwrap(), r#"{"a":{"b":false,"n":1.0}}"#);
}

#[test]
fn malformed_pieces_are_a_problem_of_their_call() {
    for odd in [
        r#"[{"jsonPath":"city","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$..a","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$.*","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$[?@.a]","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$['a","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$.a[1]","stringValue":"x"}]"#,
        r#"[{"jsonPath":"$.a[99999999999999999999]","stringValue":"x"}]"#,
        r#"[{"stringValue":"x"}]"#,
        r#"[{"jsonPath":"$.a","stringValue":7}]"#,
        r#"[{"jsonPath":"$.a","stringValue":"x","boolValue":true}]"#,
        r#"[{"jsonPath":"$.a","boolValue":true},{"jsonPath":"$.a","boolValue":false}]"#,
        r#"[{"jsonPath":"$.a","boolValue":true},{"jsonPath":"$.a.b","boolValue":false}]"#,
        r#"[{"jsonPath":"$.a","stringValue":"cut","willContinue":true}]"#,
        r#"{"jsonPath":"$.a"}"#,
    ] {
        assert!(parts(odd).is_err(), "{odd}");
    }
    let deep = format!(
        r#"[{{"jsonPath":"${}","boolValue":true}}]"#,
        ".a".repeat(200)
    );
    assert!(parts(&deep).is_err());
}

#[test]
fn names_in_paths_are_read_with_their_escapes() {
    let odd = r#"[{"jsonPath":"$['it\\'s \"a\"']","boolValue":true},
        {"jsonPath":"$[\"b\\u00e9\"]","boolValue":false}]"#;
    assert_eq!(parts(odd).unwrap(), r#"{"bé":false,"it's \"a\"":true}"#);
}

#[test]
fn what_is_gathered_is_bounded() {
    let mut streamed = Streamed::default();
    let long = "x".repeat(200 << 10);
    let piece = |id: usize, more: bool| {
        format!(
            r#"[{{"id":"c{id}","name":"f","willContinue":{more},"partialArgs":[
            {{"jsonPath":"$.t","stringValue":"{long}","willContinue":{more}}}]}}]"#
        )
    };
    for _ in 0..20 {
        assert!(take(&mut streamed, &piece(0, true)).is_empty());
    }
    let (call, problem) = take(&mut streamed, &piece(0, false)).pop().unwrap();
    assert!(call.args.is_none() && problem.unwrap().contains("longer than"));
    for id in 1..1_000 {
        assert!(take(&mut streamed, &piece(id, true)).is_empty());
    }
    assert!(streamed.open.len() <= CALLS_MAX);
    // The pieces of the last calls are lost, so these are not calls without arguments.
    let ended = take(&mut streamed, r#"[{"id":"c999","name":"f"}]"#);
    assert!(ended.into_iter().all(|(_, problem)| problem.is_some()));
    let plain = take(&mut streamed, r#"[{"id":"p","name":"f","args":{}}]"#);
    assert!(plain.into_iter().all(|(_, problem)| problem.is_none()));
}

#[test]
fn a_call_taken_back_is_forgotten() {
    let mut streamed = Streamed::default();
    take(
        &mut streamed,
        r#"[{"id":"i","name":"a","willContinue":true}]"#,
    );
    streamed.cancel(&["i".to_owned()]);
    assert!(!streamed.is_open());
}

#[test]
fn pieces_of_a_cancelled_call_are_dropped() {
    let piece = |text: &str, more: bool| {
        format!(
            r#"[{{"id":"i","name":"a","willContinue":{more},"partialArgs":[
            {{"jsonPath":"$.t","stringValue":"{text}","willContinue":{more}}}]}}]"#
        )
    };
    let tails = [
        piece("b", false),
        r#"[{"id":"i","name":"a","args":{"t":"b"}}]"#.to_owned(),
        r#"[{"id":"i"}]"#.to_owned(),
    ];
    for tail in &tails {
        let mut streamed = Streamed::default();
        let other = r#"[{"id":"o","name":"b","willContinue":true}]"#;
        assert!(take(&mut streamed, other).is_empty());
        assert!(take(&mut streamed, &piece("a", true)).is_empty());
        streamed.cancel(&["i".to_owned()]);
        assert!(take(&mut streamed, &piece("m", true)).is_empty());
        assert_eq!(take(&mut streamed, tail), [], "{tail}");
        assert_eq!(take(&mut streamed, &piece("z", false)), [], "{tail}");
        let (call, problem) = take(&mut streamed, r#"[{"id":"o"}]"#).pop().unwrap();
        assert_eq!(
            (call.args.unwrap().as_str(), problem),
            ("{}", None),
            "{tail}"
        );
        // An id names one call of a connection. A later complete call with the id is answered and
        // never runs.
        let again = take(&mut streamed, r#"[{"id":"i","name":"a","args":{}}]"#);
        let problems: Vec<_> = again.into_iter().map(|(_, problem)| problem).collect();
        assert!(
            matches!(&problems[..], [Some(it)] if it.contains("a call of this id was ended")),
            "{tail}"
        );
    }
}

#[test]
fn ids_of_cancelled_calls_are_bounded() {
    let calls = |id: usize, rest: &str| format!(r#"[{{"id":"c{id}","name":"f",{rest}}}]"#);
    let tail = r#""partialArgs":[{"jsonPath":"$.t","stringValue":"b"}]"#;
    let cancelled = |streamed: &mut Streamed, ids: std::ops::Range<usize>| {
        for id in ids {
            assert!(take(streamed, &calls(id, r#""willContinue":true"#)).is_empty());
            streamed.cancel(&[format!("c{id}")]);
        }
    };
    let mut streamed = Streamed::default();
    cancelled(&mut streamed, 0..1_000);
    assert!(streamed.open.len() <= DROPPED_MAX && !streamed.is_open());
    // The last piece of a forgotten call does not run either.
    let (_, problem) = take(&mut streamed, &calls(0, tail)).pop().unwrap();
    assert!(problem.is_some());
    assert!(take(&mut streamed, &calls(999, tail)).is_empty());
    // Dropped calls whose last piece came are forgotten without a loss.
    let mut streamed = Streamed::default();
    for id in 0..1_000 {
        cancelled(&mut streamed, id..id + 1);
        assert!(take(&mut streamed, &calls(id, tail)).is_empty());
    }
    assert!(streamed.open.len() <= DROPPED_MAX && !streamed.overflowed);
}

#[test]
fn malformed_piece_fails_its_call_at_its_end() {
    let call = |id: &str, more: bool| FunctionCall {
        id: Some(id.to_owned()),
        will_continue: Some(more),
        ..FunctionCall::default()
    };
    let problem = || Some("name: expected a string, found a number".to_owned());
    let mut streamed = Streamed::default();
    assert_eq!(streamed.take(call("i", true), None), []);
    assert_eq!(streamed.take(call("o", true), None), []);
    assert_eq!(streamed.take(call("i", true), problem()), []);
    let (failed, told) = streamed.take(call("i", false), None).pop().unwrap();
    assert_eq!((failed.id.as_deref(), failed.args), (Some("i"), None));
    assert_eq!(told, problem());
    let (whole, told) = streamed.take(call("o", false), None).pop().unwrap();
    assert_eq!((whole.id.as_deref(), told), (Some("o"), None));
    // A malformed last piece ends its call.
    assert_eq!(streamed.take(call("l", true), None), []);
    let (_, told) = streamed.take(call("l", false), problem()).pop().unwrap();
    assert_eq!(told, problem());
    assert!(!streamed.is_open());
}

#[test]
fn lost_piece_fails_the_calls_that_it_may_belong_to() {
    let begin = |streamed: &mut Streamed| {
        for call in [
            r#"[{"id":"p","name":"pay","willContinue":true}]"#,
            r#"[{"id":"s","name":"ship","willContinue":true}]"#,
            r#"[{"name":"pay","willContinue":true}]"#,
        ] {
            assert!(take(streamed, call).is_empty());
        }
    };
    let ids = |refused: &[Whole]| -> Vec<Option<String>> {
        let failed = refused.iter().filter(|(_, problem)| problem.is_some());
        failed.map(|(call, _)| call.id.clone()).collect()
    };
    let id = |id: &str| Some(id.to_owned());
    let mut streamed = Streamed::default();
    begin(&mut streamed);
    assert_eq!(ids(&streamed.lose_piece(Some("pay"))), [id("p")]);
    // Without an id, the call fails at its end.
    assert_eq!(ids(&take(&mut streamed, r#"[{"name":"pay"}]"#)), [None]);
    assert_eq!(ids(&take(&mut streamed, r#"[{"id":"s"}]"#)), []);
    assert_eq!(take(&mut streamed, r#"[{"id":"p"}]"#), []);
    let mut streamed = Streamed::default();
    begin(&mut streamed);
    assert_eq!(ids(&streamed.lose_piece(None)), [id("p"), id("s")]);
    assert_eq!(streamed.lose_piece(None), []);
}

/// Pieces of one list never become one call.
#[test]
fn elements_of_one_list_are_separate_calls() {
    let list = format!("[{TO},{CENTS}]");
    let ends = format!("[{END},{END}]");
    for rest in [
        vec!["[{}]", "[{}]"],
        vec!["[{\"name\":\"pay\"}]"; 2],
        vec![&ends],
    ] {
        let mut streamed = Streamed::default();
        let lists = [vec![list.as_str()], rest].concat();
        let outcomes = outcomes(&mut streamed, &lists);
        assert!(
            outcomes.len() == 2 && outcomes.iter().all(Result::is_err),
            "{outcomes:?}"
        );
        assert!(!streamed.is_open() && streamed.open.is_empty());
    }
    let ids = list.replace(
        r#"{"name":"pay","partialArgs":[{"jsonPath":"$.to""#,
        r#"{"id":"p","name":"pay","partialArgs":[{"jsonPath":"$.to""#,
    );
    let told = outcomes(&mut Streamed::default(), &[&ids, r#"[{"id":"p"}]"#]);
    assert_eq!(told, [Ok(r#"{"to":"bob"}"#.to_owned())]);
}

#[test]
fn complete_arguments_do_not_continue_an_open_call() {
    let lists = [TO, WHOLE, END].map(|it| format!("[{it}]"));
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let told = outcomes(&mut Streamed::default(), &lists);
    let expected = [r#"{"cents":999}"#, r#"{"to":"bob"}"#].map(|it| Ok(it.to_owned()));
    assert_eq!(told, expected);
    let unfinished = r#"{"name":"pay","args":{"cents":999},"willContinue":true}"#;
    let lists = [TO, unfinished, END, END].map(|it| format!("[{it}]"));
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let told = outcomes(&mut Streamed::default(), &lists);
    assert!(
        told.len() == 2 && told.iter().all(Result::is_err),
        "{told:?}"
    );
}

#[test]
fn complete_call_with_the_id_of_an_open_one_fails() {
    let with_id = |call: &str| format!("[{}]", call.replacen('{', r#"{"id":"i","#, 1));
    for whole in [
        WHOLE,
        r#"{"name":"pay","args":{"cents":999},"willContinue":true}"#,
    ] {
        let lists = [TO, whole, CENTS_LAST, WHOLE].map(with_id);
        let mut streamed = Streamed::default();
        assert_eq!(take(&mut streamed, &lists[0]), []);
        let (call, problem) = take(&mut streamed, &lists[1]).pop().unwrap();
        assert_eq!((call.id.as_deref(), call.args), (Some("i"), None));
        let problem = problem.unwrap();
        assert!(problem.contains("expected `partialArgs`"), "{problem}");
        assert!(problem.contains("found complete `args`"), "{problem}");
        assert_eq!(take(&mut streamed, &lists[2]), []);
        let (call, problem) = take(&mut streamed, &lists[3]).pop().unwrap();
        assert_eq!(call.id.as_deref(), Some("i"));
        let problem = problem.unwrap();
        assert!(problem.contains("a call of this id was ended"), "{problem}");
    }
}

/// No piece runs alone afterwards, and a later call is not affected.
#[test]
fn piece_that_may_belong_to_several_calls_fails_them() {
    let list = |elements: &[&str]| format!("[{}]", elements.join(","));
    let nameless = r#"{"partialArgs":[{"jsonPath":"$.x","numberValue":1}],"willContinue":true}"#;
    let ship = r#"{"name":"ship","willContinue":true}"#;
    let id = r#"{"id":"p","name":"pay","willContinue":true}"#;
    for (lists, failed) in [
        (
            vec![
                list(&[TO]),
                list(&[START]),
                list(&[CENTS]),
                list(&[END]),
                list(&[END]),
            ],
            2,
        ),
        (
            vec![list(&[TO]), list(&[START]), list(&["{}"]), list(&["{}"])],
            2,
        ),
        (
            vec![
                list(&[ship]),
                list(&[START]),
                list(&[nameless]),
                list(&["{}"]),
                list(&["{}"]),
            ],
            2,
        ),
        (
            vec![list(&[TO]), list(&[CENTS, CENTS_LAST]), list(&[END])],
            2,
        ),
        (vec![list(&[TO]), list(&[CENTS_LAST, CENTS_LAST])], 2),
        // The second element is a call of its own, whose further pieces are dropped as well.
        (
            vec![list(&[TO]), list(&[CENTS_LAST, CENTS]), list(&[END])],
            2,
        ),
        (vec![list(&[TO]), list(&[END, END])], 2),
        (vec![list(&[TO, END]), list(&[END])], 2),
        (
            vec![
                list(&[id]),
                list(&[TO]),
                list(&[START]),
                list(&[END]),
                list(&[END]),
            ],
            2,
        ),
    ] {
        let mut streamed = Streamed::default();
        let all: Vec<&str> = lists.iter().map(String::as_str).collect();
        let told = outcomes(&mut streamed, &all);
        assert_eq!(told.len(), failed, "{lists:?}: {told:?}");
        for told in told {
            let problem = told.unwrap_err();
            assert!(
                problem.contains("expected an id, found a piece without one"),
                "{problem}"
            );
        }
        assert!(!streamed.is_open(), "{lists:?}");
        let later = outcomes(&mut streamed, &[&list(&[WHOLE]), &list(&[START]), "[{}]"]);
        let expected = [r#"{"cents":999}"#, "{}"].map(|it| Ok(it.to_owned()));
        assert_eq!(later, expected, "{lists:?}");
    }
}

/// The piece may belong to either call, so the open one must not run without it.
#[test]
fn piece_beside_a_newer_cancelled_call_fails_the_open_one() {
    let begin = r#"[{"id":"o","name":"b","willContinue":true},
        {"id":"i","name":"a","willContinue":true}]"#;
    let mut streamed = Streamed::default();
    assert_eq!(take(&mut streamed, begin), []);
    streamed.cancel(&["i".to_owned()]);
    let piece = r#"[{"partialArgs":[{"jsonPath":"$.t","stringValue":"b"}]}]"#;
    let (failed, problem) = take(&mut streamed, piece).pop().unwrap();
    assert!(failed.id.as_deref() == Some("o") && problem.is_some());
    assert_eq!(take(&mut streamed, r#"[{"id":"o"}]"#), []);
    // A call that began after the cancellation is the only one that can be meant.
    let mut streamed = Streamed::default();
    assert_eq!(take(&mut streamed, begin), []);
    streamed.cancel(&["o".to_owned(), "i".to_owned()]);
    let lists = [r#"[{"id":"n","name":"a","willContinue":true}]"#, piece];
    assert_eq!(
        outcomes(&mut streamed, &lists),
        [Ok(r#"{"t":"b"}"#.to_owned())]
    );
}

#[test]
fn pieces_of_another_type_fail_in_each_spelling() {
    for name in ["partialArgs", "partial_args", "partial_Args"] {
        let call = format!(r#"[{{"id":"i","name":"a","{name}":{{"jsonPath":"$.a"}}}}]"#);
        let told = whole(&[&call]);
        assert!(
            told.as_ref()
                .is_err_and(|it| it.contains("a list of pieces")),
            "{name}: {told:?}"
        );
    }
    for value in [
        "stringValue\":7",
        "string_value\":7",
        "string_Value\":7",
        "willContinue\":7",
    ] {
        let told = parts(&format!(r#"[{{"jsonPath":"$.a","{value}}}]"#));
        assert!(told.is_err(), "{value}: {told:?}");
    }
}
