#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::sync::Arc;

use recount_journal::{DiskJournal, block_on, verify};

use super::*;
use crate::failures::Exit;
use recount::audit::{Filter, Unread, UnreadSession, decisions};
use recount::ledger::Ledger;
use recount::session::{Json, Seq, SessionId};

/// The proof and the report of a journal of the corpus.
fn proof_and_report(name: &str) -> (Proof, Report) {
    let (proof, report, _) = proof_report_and_timelines(name);
    (proof, report)
}

/// The same, with the timelines.
fn proof_report_and_timelines(name: &str) -> (Proof, Report, Timelines) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join(format!("fixtures/journals/rules-1/{name}.jsonl"));
    let bytes = std::fs::read(file).unwrap();
    recount::ledger::import(&bytes[..], &path, None).unwrap();
    let verified = verify::directory(&path).unwrap();
    let journal = DiskJournal::options(&path).read_only().open().unwrap();
    let ledger = Ledger::new(Arc::new(journal));
    let proof = block_on(Proof::of(&ledger, verified));
    let report = block_on(decisions(&ledger, &Filter::default(), |_, _| ())).unwrap();
    let timelines = block_on(Timelines::of(&ledger, &report));
    let timelines = timelines.unwrap_or_else(|it| unreachable!("{it:?}"));
    (
        proof.unwrap_or_else(|it| unreachable!("{it:?}")),
        report,
        timelines,
    )
}

fn page(proof: &Proof, report: &Report) -> String {
    let head = Head {
        journal: "books/<journal>".to_owned(),
        asked: vec!["verdict approved".to_owned()],
        written_at: Timestamp(1_763_700_000_000_000),
    };
    document(&head, proof, report, &Timelines::default())
}

#[test]
fn report_has_a_timeline_whose_calls_lead_to_their_rows() {
    let (proof, report, timelines) = proof_report_and_timelines("every_policy_and_a_restart");
    let head = Head {
        journal: "books".to_owned(),
        asked: Vec::new(),
        written_at: Timestamp(0),
    };
    let whole = document(&head, &proof, &report, &timelines);
    let session = report.calls[0].session;
    assert!(whole.contains(&format!("aria-label=\"Timeline of session {session}\"")));
    assert_eq!(whole.matches("<figure class=\"timeline\">").count(), 1);
    for call in &report.calls {
        let anchor = format!("call-{session}-{}", call.seq);
        assert!(whole.contains(&format!("<tr id=\"{anchor}\">")), "{anchor}");
    }
    // A mark leads to the row of its call, and to nothing outside of the file.
    assert!(whole.contains(&format!("href=\"#call-{session}-")));
    assert_eq!(
        whole.matches("href=").count(),
        whole.matches("href=\"#call-").count()
    );
    assert!(whole.contains(".timeline-scroll{"));
    for outside in ["http:", "https:", "url(", "<script", "src=", "style="] {
        assert!(!whole.contains(outside), "{outside}");
    }
}

#[test]
fn both_verdicts_precede_the_numbers() {
    let (mut proof, report) = proof_and_report("answered_twice");
    let whole = page(&proof, &report);
    let (verified, replayed) = (
        whole.find("Verified: consistent, not anchored"),
        whole.find("Replayed: the same decisions"),
    );
    let numbers = whole.find("In numbers");
    assert!(verified.is_some() && verified < replayed && replayed < numbers);
    assert!(whole.contains(&proof.verified.root.to_string()));
    assert_eq!((proof.replayed(), proof.exit()), (Replayed::Same, Exit::Ok));

    proof.sealed = 1;
    let partly = page(&proof, &report);
    assert!(
        partly.contains("<div class=\"card plain\">\n<h2>Not everything could be replayed</h2>")
    );
    assert!(partly.contains("1 session could not be replayed: sealed"));
    assert!(!partly.contains("the same decisions"));
    assert_eq!(proof.exit(), Exit::Sealed);
    proof.diverged.push((SessionId(uuid::Uuid::nil()), Seq(7)));
    let diverged = page(&proof, &report);
    assert!(diverged.contains("Replayed: diverged") && diverged.contains("from record 7 on"));
    proof.verified.findings.push(verify::Finding {
        session: None,
        seq: None,
        what: "a <byte> was altered".to_owned(),
    });
    let damaged = page(&proof, &report);
    assert!(
        damaged.contains("Verified: damaged") && damaged.contains("a &lt;byte&gt; was altered")
    );
    assert_eq!(proof.exit(), Exit::Damaged);
}

#[test]
fn report_about_damage_has_nothing_else() {
    let (mut proof, _) = proof_and_report("answered_twice");
    proof.verified.findings.push(verify::Finding {
        session: None,
        seq: None,
        what: "a <byte> was altered".to_owned(),
    });
    let head = Head {
        journal: "books".to_owned(),
        asked: Vec::new(),
        written_at: Timestamp(0),
    };
    let whole = of_damaged(&head, &proof.verified, "frame <7>");
    for part in [
        "<div class=\"card bad\">\n<h2>Verified: damaged</h2>",
        "a &lt;byte&gt; was altered",
        "<div class=\"card plain\">\n<h2>Not replayed</h2>",
        "frame &lt;7&gt;",
        "No call is shown.",
    ] {
        assert!(whole.contains(part), "{part} in {whole}");
    }
    assert!(!whole.contains("class=\"card good\"") && !whole.contains("In numbers"));
    for tag in ["section", "div", "p", "footer", "main", "ul"] {
        let opened =
            whole.matches(&format!("<{tag}>")).count() + whole.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, whole.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn report_has_approvals_and_refused_answers() {
    let (proof, report) = proof_and_report("answered_twice");
    let whole = page(&proof, &report);
    let call = &report.calls[0];
    let question = &call.questions[0];
    for part in [
        format!("{} #{}", call.session, call.seq),
        format!("<strong>{}</strong>", call.tool),
        text(call.args.as_ref().unwrap().as_str()),
        format!(
            "text shown, from the tool’s declaration: “{}”",
            question.hint.as_deref().unwrap()
        ),
        format!("by {}", question.by.as_ref().unwrap().name),
        ", after 90 s".to_owned(),
        format!(
            "answer from {} (embedder) refused ",
            question.refused[0].by.name
        ),
        ": already answered".to_owned(),
        "<span class=\"tag good\">returned</span>".to_owned(),
    ] {
        assert!(whole.contains(&part), "{part} in {whole}");
    }
}

#[test]
fn untrusted_text_is_escaped() {
    let (proof, mut report) = proof_and_report("answered_twice");
    let evil = "<script>alert('x')</script>\"&\u{202e}";
    let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;\\u{202e}";
    let call = &mut report.calls[0];
    call.tool = evil.to_owned();
    call.agent = evil.to_owned();
    call.external_id = Some(evil.to_owned());
    call.on_behalf_of = Some(evil.to_owned());
    call.labels.insert(evil.to_owned(), evil.to_owned());
    call.flaw = Some(evil.to_owned());
    call.error_kind = Some(evil.to_owned());
    call.sealed_args = vec![evil.to_owned()];
    call.args = Some(Json::parse(r#"{"q":"<script>x</script>"}"#).unwrap());
    let question = &mut call.questions[0];
    question.hint = Some(evil.to_owned());
    question.reason = Some(evil.to_owned());
    question.by.as_mut().unwrap().name = evil.to_owned();
    question.refused[0].refusal = evil.to_owned();
    report.unread.push(UnreadSession {
        session: report.calls[0].session,
        first_at: Timestamp(0),
        last_at: Timestamp(0),
        records: 1,
        calls: 0,
        answers: 0,
        why: Unread::Unreadable,
        problem: Some(evil.to_owned()),
        erasure: None,
    });
    let whole = page(&proof, &report);
    assert!(
        !whole.contains("<script") && !whole.contains('\u{202e}'),
        "{whole}"
    );
    assert!(whole.matches(escaped).count() >= 12, "{whole}");
    assert!(whole.contains("{&quot;q&quot;:&quot;&lt;script&gt;x&lt;/script&gt;&quot;}"));
    assert!(whole.contains("books/&lt;journal&gt;"));
}

#[test]
fn report_needs_no_other_file() {
    let (proof, report) = proof_and_report("every_policy_and_a_restart");
    let whole = page(&proof, &report);
    for outside in [
        "http://",
        "https://",
        "src=",
        "url(",
        "@import",
        "<link",
        "<script",
        "javascript:",
    ] {
        assert!(!whole.contains(outside), "{outside} in {whole}");
    }
    assert!(whole.contains("default-src 'none'"));
    for tag in [
        "table", "thead", "tbody", "tr", "th", "td", "section", "div", "code", "span", "dl", "ul",
        "li", "p",
    ] {
        let opened =
            whole.matches(&format!("<{tag}>")).count() + whole.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, whole.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn unconfirmed_runs_are_grouped_by_tool_and_reason() {
    let (proof, report) = proof_and_report("gates_waived");
    let whole = page(&proof, &report);
    let call = report.calls.iter().find(|it| it.waived.is_some()).unwrap();
    let reason = text(&call.waived.as_ref().unwrap().reason);
    let row = format!(
        "<code>{}</code></th><td>approval not enforced: {reason}</td><td>1</td>",
        call.tool
    );
    assert!(whole.contains(&row), "{row} in {whole}");
    assert!(whole.contains("<span class=\"tag open\">without a person’s approval</span>"));
}

#[test]
fn long_text_is_cut() {
    let long = text(&"<".repeat(SHOWN_MAX + 9));
    assert_eq!(long.matches("&lt;").count(), SHOWN_MAX);
    assert!(long.ends_with("… (9 characters more, in --json)"));
    assert_eq!(text("<a>"), "&lt;a&gt;");
}
