//! The verdicts of `verify.py`, which every bundle carries.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the script on many bundles in one process. A line has the exit code and the output.
const RUNNER: &str = r#"
import contextlib, io, json, sys
script = compile(open(sys.argv[1]).read(), "verify.py", "exec")
for arguments in json.load(open(sys.argv[2])):
    sys.argv, out, code = ["verify.py", *arguments], io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(out):
            exec(script, {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code or 0
    print(code, out.getvalue().strip().replace("\n", " "))
"#;

/// The exit codes and outputs for these arguments. `None` where Python or its package for
/// signatures is missing; `.ci/run` has both.
pub(crate) fn verdicts(folder: &Path, runs: &[Vec<String>]) -> Option<Vec<(i32, String)>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verify.py");
    let (runner, arguments) = (folder.join("runner.py"), folder.join("arguments.json"));
    fs::write(&runner, RUNNER).unwrap();
    fs::write(&arguments, serde_json::to_vec(runs).unwrap()).unwrap();
    let mut python = Command::new("python3");
    let has_package = Command::new("python3")
        .args(["-c", "import cryptography"])
        .output();
    if !has_package.is_ok_and(|it| it.status.success()) {
        return None;
    }
    let run = python
        .arg(&runner)
        .arg(script)
        .arg(&arguments)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let lines = String::from_utf8(run.stdout).unwrap();
    let lines = lines.lines().map(|line| {
        let (code, out) = line.split_once(' ').unwrap();
        (code.parse().unwrap(), out.to_owned())
    });
    Some(lines.collect())
}
