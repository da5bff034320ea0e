//! The promises of `bundle.json` about the records, and the names in a zip file.

use std::fs;
use std::io::Write;

use recount_bundle::{Disclose, Outside, Sample, Scope, verify_bundle};
use recount_journal::verify::Integrity;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::files::{Files, MANIFEST};
use crate::injuries::withhold;
use crate::journals::Bench;
use crate::python;

fn findings(bench: &Bench, files: &mut Files, name: &str) -> Vec<String> {
    files.list();
    let path = bench.folder.path().join(name);
    files.write(&path);
    verify_bundle(&path, &Outside::default()).unwrap().findings
}

#[tokio::test]
async fn bundle_of_all_records_withholds_none() {
    let bench = Bench::with(6).await;
    let request = bench.request(Disclose::All, Scope::default());
    let mut files = Files::read(&bench.write("all", request).await);
    let mut lines = files.lines();
    let of = |it: &&mut Vec<u8>| String::from_utf8_lossy(it).contains("confirmation_answered");
    let line = lines.iter_mut().find(of).unwrap();
    *line = withhold(line);
    files.put_lines(&lines);
    files.0.retain(|name, _| !name.starts_with("proofs/"));
    let mut told: Value = serde_json::from_slice(&files.0["bundle.json"]).unwrap();
    told["disclosed"] = json!(told["disclosed"].as_u64().unwrap() - 1);
    let put = |files: &mut Files, told: &Value| {
        let text = told.to_string().into_bytes();
        files.0.insert("bundle.json".to_owned(), text);
    };
    put(&mut files, &told);
    let found = findings(&bench, &mut files, "fewer");
    assert!(
        found.len() == 1 && found[0].contains("some are withheld"),
        "{found:?}"
    );
    // With the disclosure of approvals it is the word of the writer which records are about one.
    told["disclose"] = json!("approvals");
    put(&mut files, &told);
    assert_eq!(
        findings(&bench, &mut files, "approvals"),
        Vec::<String>::new()
    );
    let paths = ["fewer", "approvals", "nowhere", "fewer/verify.py"];
    let run = |it| vec![bench.folder.path().join(it).display().to_string()];
    let expected = [
        (4, "Damaged", "some are withheld"),
        (0, "Consistent", " manifest "),
        (2, "It cannot be checked", "expected an unpacked bundle"),
        (2, "It cannot be checked", "expected an unpacked bundle"),
    ];
    let runs = python::verdicts(bench.folder.path(), &paths.map(run));
    for ((code, out), (wanted, first, then)) in runs.into_iter().flatten().zip(expected) {
        let is_so = code == wanted && out.starts_with(first) && out.contains(then);
        assert!(is_so, "{code} {out}");
    }
}

#[tokio::test]
async fn manifest_is_named_by_its_hash() {
    let bench = Bench::with(3).await;
    let request = bench.request(Disclose::Approvals, Scope::default());
    let path = bench.write("whole", request).await;
    let manifest = fs::read(path.join(MANIFEST)).unwrap();
    let report = verify_bundle(&path, &Outside::default()).unwrap();
    assert_eq!(
        report.manifest,
        Some(recount_journal::Hash::of_object(&manifest))
    );
}

#[tokio::test]
async fn population_is_every_call_in_scope() {
    let bench = Bench::with(40).await;
    let mut request = bench.request(Disclose::All, Scope::default());
    request.sample = Some(Sample {
        count: 3,
        seed: "auditor".to_owned(),
    });
    let whole = Files::read(&bench.write("sample", request).await);
    let text = String::from_utf8(whole.0["population.jsonl"].clone()).unwrap();
    let rank = |line: &&str| line.split("\"rank\":").last().map(str::to_owned);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(rank);
    // The calls with the largest ranks are no part of the sample.
    let fewer = lines[..lines.len() - 1].join("\n");
    let twice = [&lines[..], &lines[lines.len() - 1..]].concat().join("\n");
    for (name, text, words) in [
        ("same", lines.join("\n"), None),
        ("fewer", fewer, Some("1 calls of records.jsonl are missing")),
        ("twice", twice, Some("a call is listed twice")),
    ] {
        let mut files = whole.clone();
        files
            .0
            .insert("population.jsonl".to_owned(), text.into_bytes());
        let found = findings(&bench, &mut files, name);
        match words {
            None => assert_eq!(found, Vec::<String>::new()),
            Some(words) => assert!(found.len() == 1 && found[0].contains(words), "{found:?}"),
        }
    }
}

#[tokio::test]
async fn zip_file_with_odd_names_is_damaged() {
    let bench = Bench::with(3).await;
    let request = bench.request(Disclose::Approvals, Scope::default());
    let mut files = Files::read(&bench.write("whole", request).await);
    let zipped = |name: &str, files: &Files| {
        let path = bench.folder.path().join(name);
        let mut zip = ZipWriter::new(fs::File::create(&path).unwrap());
        for (name, content) in &files.0 {
            zip.start_file(name.as_str(), SimpleFileOptions::default())
                .unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap();
        path
    };
    let found = |path: &std::path::Path| verify_bundle(path, &Outside::default()).unwrap();
    let sound = zipped("sound.zip", &files);
    assert_eq!(found(&sound).integrity(), Integrity::Consistent);
    // Two files of one name: the other name is as long, and written over.
    let mut two = files.clone();
    two.0
        .insert("README.mx".to_owned(), b"another page".to_vec());
    let path = zipped("two.zip", &two);
    let mut bytes = fs::read(&path).unwrap();
    while let Some(at) = bytes.windows(9).position(|it| it == b"README.mx") {
        bytes[at + 8] = b'd';
    }
    fs::write(&path, bytes).unwrap();
    let report = found(&path);
    let words = "two files of one name";
    assert!(
        report.findings.iter().any(|it| it.contains(words)),
        "{:?}",
        report.findings
    );
    for odd in ["keys/../../up", "a\\b", "/root"] {
        let before = files.0.insert(odd.to_owned(), b"odd".to_vec());
        assert!(before.is_none());
        files.list();
        let report = found(&zipped("odd.zip", &files));
        files.0.remove(odd);
        let is_found = report.findings.iter().any(|it| it.contains("unsafe name"));
        assert!(is_found, "{odd}: {:?}", report.findings);
    }
}
