use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ToolPolicy;
use crate::run::outcome::ToolOutcome;
use crate::tools::policy_tool::PolicyTool;
use recount_session::{Seq, SessionId};

fn context() -> ToolContext {
    let session = SessionId(uuid::Uuid::nil());
    ToolContext::new(session, session.call_id(Seq(1)), 2, "key-1")
}

async fn nothing_yielded(value: Value) -> Result<(), ToolError> {
    Err(ToolError::Other(format!("yielded {value}")))
}

fn shell(script: &str) -> PolicyTool {
    let args = ["-c".to_owned(), script.to_owned()];
    PolicyTool::new(
        Arc::new(CommandTool::new("sh", "", None, "sh", args)),
        ToolPolicy::default(),
    )
}

async fn outcome(script: &str, args: Value) -> ToolOutcome {
    match shell(script).run(args, context(), nothing_yielded).await {
        ToolOutcome::Text(text) => ToolOutcome::Returned(text.to_value()),
        other => other,
    }
}

async fn failure_of(script: &str) -> String {
    match outcome(script, json!({})).await {
        ToolOutcome::Failed(ToolError::ExecutionFailed(text)) => text,
        other => format!("did not fail: {other:?}"),
    }
}

#[tokio::test]
async fn arguments_go_in_and_the_result_comes_out() {
    let args = json!({"city": "Zürich", "n": 9_007_199_254_740_993_u64});
    assert_eq!(
        outcome("cat", args.clone()).await,
        ToolOutcome::Returned(args)
    );
}

#[tokio::test]
async fn a_program_that_prints_nothing_returns_null() {
    assert_eq!(
        outcome("echo; exit 0", json!({})).await,
        ToolOutcome::Returned(Value::Null)
    );
}

#[tokio::test]
async fn the_program_knows_which_call_it_serves() {
    let script = concat!(
        r#"printf '["%s","%s","%s","%s"]' "$RECOUNT_SESSION" "$RECOUNT_CALL" "$RECOUNT_ATTEMPT" "#,
        r#""$RECOUNT_IDEMPOTENCY_KEY""#,
    );
    let context = context();
    let expected = json!([context.session, context.call_id(), "2", "key-1"]);
    assert_eq!(
        outcome(script, json!({})).await,
        ToolOutcome::Returned(expected)
    );
}

/// Parses the text of an outcome.
fn parsed(outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        ToolOutcome::Text(text) => ToolOutcome::Returned(text.to_value()),
        other => other,
    }
}

#[tokio::test]
async fn program_receives_the_approval_payload() {
    let given = |confirmation: ToolConfirmation| async {
        let script = r#"echo "${RECOUNT_CONFIRMATION-null}""#;
        let context = context().with_confirmation(confirmation);
        let tool = shell(script);
        parsed(tool.run(json!({}), context, nothing_yielded).await)
    };
    let yes = ToolConfirmation::confirmed();
    assert_eq!(
        given(yes.clone().with_payload(json!({"from": "Monday"}))).await,
        ToolOutcome::Returned(json!({"confirmed": true, "payload": {"from": "Monday"}}))
    );
    assert_eq!(
        given(yes.clone()).await,
        ToolOutcome::Returned(json!({"confirmed": true}))
    );
    let long = yes.with_payload("x".repeat(200_000).into());
    let result = given(long).await;
    let text = format!("{result:?}");
    let is_refused = text.starts_with("Failed(NotAvailable(");
    assert!(is_refused && text.contains("at most"), "{text}");
    let unasked = outcome(r#"echo "${RECOUNT_CONFIRMATION-null}""#, json!({})).await;
    assert_eq!(unasked, ToolOutcome::Returned(Value::Null));
}

#[tokio::test]
async fn program_inherits_only_named_variables() {
    // Cargo sets both for this process.
    let script = r#"printf '["%s","%s"]' "$CARGO_MANIFEST_DIR" "$CARGO_PKG_NAME""#;
    let args = ["-c".to_owned(), script.to_owned()];
    let tool = CommandTool::new("sh", "", None, "sh", args);
    let of = |tool: CommandTool| PolicyTool::new(Arc::new(tool), ToolPolicy::default());
    let plain = of(tool.clone());
    let plain = parsed(plain.run(json!({}), context(), nothing_yielded).await);
    assert_eq!(plain, ToolOutcome::Returned(json!(["", ""])));
    let named = of(tool.inherit_env(["CARGO_PKG_NAME"]));
    let named = parsed(named.run(json!({}), context(), nothing_yielded).await);
    assert_eq!(named, ToolOutcome::Returned(json!(["", "recount-tool"])));
}

#[tokio::test]
async fn failure_has_the_end_of_standard_error() {
    assert_eq!(
        failure_of("echo '{}'; echo no money >&2; exit 3").await,
        "the program failed (exit status: 3): no money"
    );
    assert_eq!(
        failure_of("exit 1").await,
        "the program failed (exit status: 1)"
    );
    assert_eq!(
        failure_of("kill -9 $$").await,
        "the program failed (signal: 9 (SIGKILL))"
    );
    let text = failure_of("yes | head -c 1000000 >&2; echo the end >&2; exit 1").await;
    assert!(text.ends_with("the end") && text.len() < 1200, "{text}");
}

#[tokio::test]
async fn invalid_json_output_is_quoted_and_cut() {
    let text = failure_of("echo all good").await;
    assert!(
        text.contains("not JSON") && text.ends_with("\"all good\""),
        "{text}"
    );
    let text = failure_of("yes | head -c 1000000").await;
    assert!(text.len() < 700, "{}", text.len());
    let text = failure_of("yes | head -c 9000000").await;
    assert_eq!(text, "the program printed more than 8388608 bytes");
}

#[tokio::test]
async fn program_that_reads_no_input_does_not_hang() {
    let large = json!({"text": "x".repeat(1 << 20)});
    assert_eq!(
        outcome("echo 1", large.clone()).await,
        ToolOutcome::Returned(json!(1))
    );
    let before = outcome(
        "printf '\"'; head -c 1000000 /dev/zero | tr '\\0' y; printf '\"'; cat >/dev/null",
        large,
    )
    .await;
    assert_eq!(before, ToolOutcome::Returned(json!("y".repeat(1_000_000))));
}

#[tokio::test]
async fn missing_program_is_a_failure_with_its_name() {
    let tool = CommandTool::new("x", "", None, "/no/such/program", []);
    let outcome = PolicyTool::new(Arc::new(tool), ToolPolicy::default())
        .run(json!({}), context(), nothing_yielded)
        .await;
    let ToolOutcome::Failed(ToolError::ExecutionFailed(text)) = outcome else {
        unreachable!("{outcome:?}");
    };
    assert!(
        text.starts_with("cannot start \"/no/such/program\": "),
        "{text}"
    );
}

#[tokio::test]
async fn cancellation_kills_the_program() -> io::Result<()> {
    killed_when_cancelled(|holds| holds.to_owned()).await
}

/// The usual command is a script, and its work is done by programs that it starts.
#[tokio::test]
async fn cancellation_kills_child_processes() -> io::Result<()> {
    killed_when_cancelled(|holds| format!("({holds}); echo 1")).await
}

/// The left process holds the pipe that the program opened, and no standard stream of the program.
#[tokio::test]
async fn process_left_behind_survives_the_call() -> io::Result<()> {
    let pipes = Pipes::make().await?;
    let script = format!(
        "exec 3>'{alive}'; (read line <'{release}'; echo survived >&3) >/dev/null 2>&1 & echo 1",
        alive = pipes.alive.display(),
        release = pipes.release.display()
    );
    let alive = pipes.alive.clone();
    let alive = tokio::task::spawn_blocking(move || File::open(alive));
    assert_eq!(
        outcome(&script, json!({})).await,
        ToolOutcome::Returned(json!(1))
    );
    assert_eq!(pipes.last_words(alive.await??).await?, "survived\n");
    Ok(())
}

/// Two pipes in a directory of their own. A process holds one end of the first while it lives, and
/// waits on the second.
struct Pipes {
    _directory: tempfile::TempDir,
    alive: PathBuf,
    release: PathBuf,
}

impl Pipes {
    async fn make() -> io::Result<Pipes> {
        let directory = tempfile::tempdir()?;
        let [alive, release] = ["alive", "release"].map(|it| directory.path().join(it));
        let made = Command::new("mkfifo").arg(&alive).arg(&release).status();
        assert!(made.await?.success());
        Ok(Pipes {
            _directory: directory,
            alive,
            release,
        })
    }

    /// Returns the output of the process after its release: empty if the process is gone.
    async fn last_words(self, mut alive: File) -> io::Result<String> {
        let said = tokio::task::spawn_blocking(move || {
            // Opened for both, because opening for writing alone waits for a reader.
            let release = File::options().read(true).write(true).open(self.release);
            let mut release = release?;
            release.write_all(b"\n")?;
            let mut said = String::new();
            alive.read_to_string(&mut said)?;
            Ok(said)
        });
        said.await?
    }
}

/// An end of file without output after the release proves that the process was killed.
async fn killed_when_cancelled(script: impl FnOnce(&str) -> String) -> io::Result<()> {
    let pipes = Pipes::make().await?;
    let holds = format!(
        "exec 3>'{}'; echo started >&3; read line <'{}'; echo survived >&3",
        pipes.alive.display(),
        pipes.release.display()
    );
    let token = CancellationToken::new();
    let (cancel, alive) = (token.clone(), pipes.alive.clone());
    let started = tokio::task::spawn_blocking(move || {
        let mut alive = File::open(alive)?;
        alive.read_exact(&mut [0; 8])?;
        cancel.cancel();
        io::Result::Ok(alive)
    });
    let outcome = shell(&script(&holds))
        .run(
            json!({}),
            context().with_cancellation(token),
            nothing_yielded,
        )
        .await;
    assert!(
        matches!(outcome, ToolOutcome::Failed(ToolError::Cancelled(_))),
        "{outcome:?}"
    );
    assert_eq!(pipes.last_words(started.await??).await?, "");
    Ok(())
}
