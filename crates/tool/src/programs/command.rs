//! A tool that is a program: arguments on standard input, the result on standard output.

use std::io;
use std::process::{ExitStatus, Stdio};

use async_trait::async_trait;
use recount_session::Json;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::implementation::Pinned;
use super::process_group::ProcessGroup;
use super::program_env;
use crate::kinds::function::ToolFunction;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;
use crate::typed::digits::is_text_of;
use recount_session::ToolConfirmation;

/// A tool that is a program.
///
/// The program reads the arguments of the call as JSON from its standard input, exactly as
/// recorded. It prints the result as JSON; empty output is `null`. Numbers keep all their digits
/// both ways. An exit code other than 0 is a failure whose message is the end of standard error. A
/// cancellation or a timeout kills the program and the programs that it has started. It does not
/// kill programs in a process group of their own, as `setsid` and `timeout` make. The program
/// continues if this process is killed.
///
/// Its environment holds `RECOUNT_SESSION`, `RECOUNT_CALL`, `RECOUNT_ATTEMPT` and
/// `RECOUNT_IDEMPOTENCY_KEY`. After an approval it also holds `RECOUNT_CONFIRMATION`:
/// `{"confirmed":true,"payload":…}`, without `payload` if the approver gave none. From the
/// environment of this process it inherits `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`,
/// `LANG`, `TZ` and `TMPDIR`, and the variables named by [`inherit_env`](Self::inherit_env).
///
/// An approval of a call covers the program's name, its arguments, and the content of files named
/// among them. A script named by its path is also covered by content. If one of them has changed
/// before an approved call starts, the engine asks for a new approval. It does not see a file named
/// inside another word (`sh -c "./a.sh"`) or used without being named (`python -m app`). It does
/// not read a directory, which may hold data. See [`pin_program`](Self::pin_program) and
/// [`unpinned`](Self::unpinned).
///
/// On unix the program leads a process group: the keys of a terminal do not reach it, and reading
/// from a terminal stops it. Processes that it leaves behind are not killed once the call has its
/// result. A process that keeps standard output or error open keeps the call from ending.
///
/// ```
/// use recount_tool::{CommandTool, T, ToolDispatcher};
///
/// let mut tools = ToolDispatcher::new();
/// tools.register(T::confirm(
///     CommandTool::new("echo", "Gives the arguments back", None, "cat", []),
///     "Echo?",
/// ))?;
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommandTool {
    name: String,
    description: String,
    parameters: Option<Value>,
    program: String,
    args: Vec<String>,
    inherited: Vec<String>,
    pinned: Pinned,
}

impl CommandTool {
    /// Creates a tool from a program, which runs in the current directory. A program without a path
    /// is searched in `PATH`.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Option<Value>,
        program: impl Into<String>,
        args: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            program: program.into(),
            args: args.into_iter().collect(),
            inherited: Vec::new(),
            pinned: Pinned::default(),
        }
    }

    /// Lets the program also inherit these environment variables.
    #[must_use]
    pub fn inherit_env<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.inherited.extend(names.into_iter().map(Into::into));
        self
    }

    /// Covers the program's content by approvals even if it is no script. Then an update of the
    /// program makes approved calls need a new approval.
    #[must_use]
    pub fn pin_program(mut self) -> Self {
        self.pinned.program = true;
        self
    }

    /// Names words of the command whose files are not covered by content, such as a database that
    /// calls write to.
    #[must_use]
    pub fn unpinned<N: Into<String>>(mut self, words: impl IntoIterator<Item = N>) -> Self {
        self.pinned.except.extend(words.into_iter().map(Into::into));
        self
    }

    async fn run(&self, input: &Json, context: Option<&ToolContext>) -> Result<Json, ToolError> {
        let failed = |what: &str, error: io::Error| {
            ToolError::ExecutionFailed(format!("{what} {:?}: {error}", self.program))
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).kill_on_drop(true);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program_env::clean(&mut command, self.inherited.iter().map(String::as_str));
        if let Some(context) = context {
            if let Some(confirmation) = context.confirmation() {
                command.env("RECOUNT_CONFIRMATION", confirmed(confirmation)?);
            }
            command.env("RECOUNT_SESSION", context.session.to_string());
            command.env("RECOUNT_CALL", context.call_id().to_string());
            command.env("RECOUNT_ATTEMPT", context.attempt.to_string());
            command.env("RECOUNT_IDEMPOTENCY_KEY", context.idempotency_key());
            context.check_start()?;
        }
        let started = ProcessGroup::led_by(&mut command).spawn();
        let mut program = Program(started.map_err(|error| failed("cannot start", error))?);
        let Program(child) = &mut program;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());

        let write = async {
            if let Some(mut stdin) = stdin {
                // A program may leave its input unread. Its exit code tells if it succeeded.
                let written = stdin.write_all(input.as_str().as_bytes()).await;
                written.and(stdin.shutdown().await).ok();
            }
        };
        // Concurrently, because a program may block on any full or empty pipe.
        let ((), out, err) = tokio::join!(write, start_of(stdout), end_of(stderr));
        let status = child.wait().await.map_err(|error| failed("lost", error))?;
        let out = out.map_err(|error| failed("cannot read from", error))?;
        let err = err.unwrap_or_default();
        if !status.success() {
            return Err(ToolError::ExecutionFailed(failure(status, &err)));
        }
        result(&out)
    }
}

#[async_trait]
impl ToolFunction for CommandTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Option<Value> {
        self.parameters.clone()
    }

    fn reads_text(&self) -> bool {
        true
    }

    fn implementation(&self) -> Option<Value> {
        Some(self.pinned.of(&self.program, &self.args))
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        let printed = self.run(&Json::of(&args), None).await?;
        Ok(printed.to_value())
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let printed = self.run(&text_of(args, &context), Some(&context)).await?;
        Ok(printed.to_value())
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        let printed = self.run(&text_of(args, &context), Some(&context)).await;
        printed.map_or_else(ToolOutcome::Failed, ToolOutcome::Text)
    }
}

/// Returns the recorded text of the arguments, unless a wrapping tool has changed the arguments.
fn text_of(args: Value, context: &ToolContext) -> Json {
    let text = context.args.as_ref().filter(|text| is_text_of(text, &args));
    text.cloned().unwrap_or_else(|| Json::of(&args))
}

/// A running program, whose process group is killed on drop unless the program was waited for.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // `ProcessGroup::of` returns no id after a wait, because the id may be reused by then.
        ProcessGroup::of(&self.0).end();
    }
}

/// Reads to the end, and keeps one byte more than the maximum to detect output that is too long.
async fn start_of(from: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    if let Some(mut from) = from {
        (&mut from)
            .take(OUTPUT_BYTES_MAX + 1)
            .read_to_end(&mut kept)
            .await?;
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(kept)
}

/// Reads to the end and keeps the last bytes.
async fn end_of(from: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut from) = from else {
        return Ok(kept);
    };
    let mut chunk = [0; 4096];
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return Ok(kept);
        }
        kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
        kept.drain(..kept.len().saturating_sub(STDERR_BYTES_MAX));
    }
}

/// Returns the approver's answer for the environment.
fn confirmed(confirmation: &ToolConfirmation) -> Result<String, ToolError> {
    let text = confirmation.text_for_program();
    if text.len() > CONFIRMATION_BYTES_MAX {
        return Err(ToolError::NotAvailable(format!(
            "expected a payload of at most {CONFIRMATION_BYTES_MAX} bytes with the yes, found {}",
            text.len()
        )));
    }
    Ok(text)
}

fn failure(status: ExitStatus, err: &[u8]) -> String {
    let words = String::from_utf8_lossy(err);
    match words.trim() {
        "" => format!("the program failed ({status})"),
        words => format!("the program failed ({status}): {words}"),
    }
}

fn result(out: &[u8]) -> Result<Json, ToolError> {
    if out.len() as u64 > OUTPUT_BYTES_MAX {
        let text = format!("the program printed more than {OUTPUT_BYTES_MAX} bytes");
        return Err(ToolError::ExecutionFailed(text));
    }
    if out.trim_ascii().is_empty() {
        return Ok(Json::of(&Value::Null));
    }
    let printed = str::from_utf8(out).map_err(|error| error.to_string());
    let printed = printed.and_then(|text| Json::parse(text).map_err(|it| it.to_string()));
    printed.map_err(|problem| {
        let shown: String = String::from_utf8_lossy(out)
            .trim()
            .chars()
            .take(SHOWN_CHARS_MAX)
            .collect();
        ToolError::ExecutionFailed(format!(
            "the program printed something that is not JSON on record ({problem}): {shown:?}"
        ))
    })
}

/// Linux limits one environment variable, including its name, to 128 KiB.
const CONFIRMATION_BYTES_MAX: usize = 120 << 10;
const OUTPUT_BYTES_MAX: u64 = 8 << 20;
const STDERR_BYTES_MAX: usize = 1024;
const SHOWN_CHARS_MAX: usize = 200;

#[cfg(all(test, unix))]
#[path = "command_tests.rs"]
mod tests;
