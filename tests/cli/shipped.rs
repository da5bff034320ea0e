//! The shipped script and tools file together, with a yes and with a no.

use std::fs;
use std::path::Path;

use crate::program::Bench;

/// The words of the model are true of both, because a script cannot know which one came.
#[test]
fn refund_script_runs_with_support_tools() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (flag, ends) in [("--approve-all", "refunded"), ("--deny-all", "denied")] {
        let bench = Bench::new();
        let tools = fs::read_to_string(root.join("fixtures/tools/support.toml")).unwrap();
        bench.write("support.toml", &tools);
        let script = fs::read_to_string(root.join("fixtures/scripts/refund.jsonl")).unwrap();
        let (_simulator, url) = bench.simulate(&script);
        let mut command = bench.command(&format!(
            "run --tools support.toml --endpoint {url} --journal j {flag} --text"
        ));
        let ran = command.arg("Please refund order 1001.").output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(
            out.contains("Your refund for order 1001 has been decided."),
            "{out}"
        );
        let session = bench.session("j");
        let log = bench
            .run(&format!("log j {session} --json"))
            .ends_with(0)
            .out;
        assert!(
            log.contains("confirmation_requested") && log.contains(ends),
            "{flag}: {log}"
        );
    }
}
