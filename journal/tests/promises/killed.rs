//! Child processes of this test binary that end at each step of an operation, and copies of
//! journals.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio, abort};
use std::sync::atomic::{AtomicU64, Ordering};

const JOURNAL: &str = "RECOUNT_JOURNAL_UPKEEP";
const STEP: &str = "RECOUNT_JOURNAL_STEP";

/// Returns the journal that the child uses; `None` in the test run itself.
pub(crate) fn journal() -> Option<String> {
    env::var(JOURNAL).ok()
}

/// Returns a callback for the child that ends the process at the step that the parent chose.
pub(crate) fn at_step() -> impl Fn(&str) + Send + Sync + 'static {
    let (last, met) = (
        env::var(STEP).unwrap().parse::<u64>().unwrap(),
        AtomicU64::new(0),
    );
    move |step| {
        println!("step {step}");
        if met.fetch_add(1, Ordering::SeqCst) + 1 == last {
            abort();
        }
    }
}

/// Runs a child for each step of an operation, on a copy of a journal until that step. It shows
/// the result. Returns the steps.
pub(crate) fn at_every_step(
    child: &str,
    sound: &Path,
    mut look: impl FnMut(&Path, &str),
) -> Vec<String> {
    let mut steps = Vec::new();
    for last in 1_u64.. {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        copy(sound, &path);
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", child, "--nocapture", "--test-threads=1"])
            .env(JOURNAL, &path)
            .env(STEP, last.to_string())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stdout.clone()).unwrap();
        steps = told
            .lines()
            .filter_map(|line| line.split_once("step ").map(|(_, step)| step.to_owned()))
            .collect();
        let ended = output.status.success();
        assert_eq!(ended, (steps.len() as u64) < last, "{output:?}");
        let about = format!("ended before step {last}, {:?}", steps.last());
        look(&path, &about);
        if ended {
            break;
        }
    }
    steps
}

/// Copies a directory with its content.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}
