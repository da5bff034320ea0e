//! The command line as a whole: its commands, its global options, and the end of the program.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::audit::{Audit, Evidence, Reads};
use crate::demo::{Demo, Service};
use crate::development::{Fixtures, Policy, Simulate};
use crate::failures::{Exit, Failure, without_password};
use crate::inspect::{Diff, Log, Replay, Sessions, Show, State};
use crate::journal::unknown_kinds;
use crate::maintenance::{
    Backup, Checkpoint, Compact, Export, Import, Prove, Repair, Restore, Verify,
};
use crate::operator::{
    Approve, Cancel, Claim, Deny, Erase, Finish, Leaves, ListHolds, Pause, Pauses, Pending,
    PlaceHold, Reconcile, Release, Renew, RespondCall, Revoke, Settle, Unhold, Unpause,
};
use crate::run::Run;
#[cfg(feature = "serve")]
use crate::serve::{Check, Gateway, Init, Notify, Reload, Serve, Token};
use crate::terminal::{ColorChoice, Palette, Screen, log_lines};
use recount_telling::Zone;

/// The maximum time that the end of the program waits for interrupted work.
const SHUTDOWN_MAX: Duration = Duration::from_secs(1);

const EXIT_CODES: &str = "Exit codes:
  0  all is well
  1  it failed
  2  the command line is wrong
  3  refused by a rule, for example because the request was answered before
  4  damaged: a journal or an export was damaged or altered
  5  diverged: a replay decided differently, two sessions differ, or a fixture
     failed
  6  sealed: a session cannot be read without its key
141  the reader of the output closed it early, as in `recount log … | head`

An id can be shortened to any unique beginning of four digits or more.
Errors are printed to standard error with a code that never changes:
error[CODE]: … docs/command-line.md has more for scripts.";

/// The heading in the help of each command, which separates its own options from these.
const GLOBAL_OPTIONS: &str = "Global options";

/// Recorded sessions of live LLM agents: read, answer, verify and replay them.
#[derive(Parser)]
#[command(name = "recount", version, after_help = EXIT_CODES, max_term_width = 80)]
struct CommandLine {
    /// The use of colour: auto, always or never; auto respects NO_COLOR.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true,
        help_heading = GLOBAL_OPTIONS
    )]
    color: ColorChoice,
    /// The time zone of the times on screens: utc, local, or an offset such as +02:00; JSON and CSV
    /// are always in UTC.
    #[arg(
        long,
        global = true,
        value_name = "ZONE",
        default_value_t,
        allow_hyphen_values = true,
        help_heading = GLOBAL_OPTIONS
    )]
    tz: Zone,
    /// Accepts a journal whose directory other users can write to, or that another user owns.
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    insecure_directory: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(Demo),
    #[command(name = "demo-service", hide = true)]
    Service(Service),
    Run(Run),
    #[cfg(feature = "serve")]
    Serve(Serve),
    #[cfg(feature = "serve")]
    Gateway(Box<Gateway>),
    #[cfg(feature = "serve")]
    Init(Init),
    #[cfg(feature = "serve")]
    Check(Check),
    #[cfg(feature = "serve")]
    Token(Token),
    #[cfg(feature = "serve")]
    Reload(Reload),
    #[cfg(feature = "serve")]
    Notify(Notify),
    Simulate(Simulate),
    Sessions(Sessions),
    Log(Log),
    Show(Show),
    Pending(Pending),
    /// Approves a waiting call; without a running service it only records the answer.
    #[command(long_about = None)]
    Approve(Approve),
    /// Denies a waiting call; the model is told.
    #[command(long_about = None)]
    Deny(Deny),
    Settle(Settle),
    Reconcile(Reconcile),
    RespondCall(RespondCall),
    Cancel(Cancel),
    Leaves(Leaves),
    Revoke(Revoke),
    Pause(Pause),
    Unpause(Unpause),
    Pauses(Pauses),
    Claim(Claim),
    Renew(Renew),
    Finish(Finish),
    Release(Release),
    Erase(Erase),
    #[command(name = "hold")]
    PlaceHold(PlaceHold),
    Unhold(Unhold),
    #[command(name = "holds")]
    ListHolds(ListHolds),
    Export(Export),
    Import(Import),
    Backup(Backup),
    Restore(Restore),
    Verify(Verify),
    Checkpoint(Checkpoint),
    Prove(Prove),
    Repair(Repair),
    Compact(Compact),
    Replay(Replay),
    Diff(Diff),
    State(State),
    Policy(Policy),
    Audit(Audit),
    Evidence(Box<Evidence>),
    Reads(Reads),
    #[command(subcommand)]
    Fixture(Fixtures),
}

/// Runs the command of the command line.
pub(crate) fn run() -> ExitCode {
    let command_line = CommandLine::try_parse().unwrap_or_else(|error| misused(&error));
    #[cfg(feature = "serve")]
    let is_service = matches!(
        command_line.command,
        Command::Serve(_) | Command::Gateway(_)
    );
    #[cfg(not(feature = "serve"))]
    let is_service = false;
    follow_tracing(is_service.then_some(tracing::Level::WARN));
    if command_line.insecure_directory {
        crate::journal::opening::trust_others();
    }
    command_line.tz.choose();
    let mut screen = Screen::new(Palette::chosen(command_line.color));
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::io("start the runtime", &error))
        .and_then(|runtime| {
            let outcome = runtime.block_on(run_command(command_line.command, &mut screen));
            // Running work is interrupted here. A blocked thread, such as one that looks up a host
            // name, must not keep the program.
            runtime.shutdown_timeout(SHUTDOWN_MAX);
            outcome
        });
    // The output before a failure is shown before the failure.
    let noted = screen.show_notes();
    let flushed = noted.and(screen.flush());
    let warning = unknown_kinds::warning(&screen.passed_over);
    // Without standard error there is no place for the warning.
    let _ = std::io::stderr().write_all(warning.as_bytes());
    let exit = match outcome.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => exit,
        Err(mut failure) => {
            if screen.can_skip.get() {
                failure = failure.of_command_that_skips();
            }
            // Without standard error there is no place for the message.
            let _ = std::io::stderr().write_all(failure.message().as_bytes());
            failure.exit
        }
    };
    ExitCode::from(exit as u8)
}

/// Ends the program after a wrong command line. The message repeats words of it, which may be
/// addresses with passwords.
fn misused(error: &clap::Error) -> ! {
    // With its code, as the failure of a command.
    if let Some(ContextValue::String(message)) = error.get(ContextKind::Custom) {
        let _ = std::io::stderr().write_all(message.as_bytes());
        std::process::exit(error.exit_code());
    }
    let has_password = |it: &str| without_password(it) != it;
    if !std::env::args_os().any(|it| has_password(&it.to_string_lossy())) {
        error.exit();
    }
    let rendered = error.render().to_string();
    let lines = rendered.lines().map(|it| without_password(it) + "\n");
    // Without standard error there is no place for the message.
    let _ = std::io::stderr().write_all(lines.collect::<String>().as_bytes());
    std::process::exit(error.exit_code())
}

async fn run_command(command: Command, screen: &mut Screen) -> Result<Exit, Failure> {
    match command {
        Command::Demo(it) => it.run(screen).await,
        Command::Service(it) => it.run(screen).await,
        Command::Run(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Serve(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Gateway(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Init(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Check(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Token(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Reload(it) => it.run(screen).await,
        #[cfg(feature = "serve")]
        Command::Notify(it) => it.run(screen).await,
        Command::Simulate(it) => it.run(screen).await,
        Command::Sessions(it) => it.run(screen).await,
        Command::Log(it) => it.run(screen).await,
        Command::Show(it) => it.run(screen).await,
        Command::Pending(it) => it.run(screen).await,
        Command::Approve(it) => it.run(screen).await,
        Command::Deny(it) => it.run(screen).await,
        Command::Settle(it) => it.run(screen).await,
        Command::Reconcile(it) => it.run(screen).await,
        Command::RespondCall(it) => it.run(screen).await,
        Command::Cancel(it) => it.run(screen).await,
        Command::Leaves(it) => it.run(screen).await,
        Command::Revoke(it) => it.run(screen).await,
        Command::Pause(it) => it.run(screen).await,
        Command::Unpause(it) => it.run(screen).await,
        Command::Pauses(it) => it.run(screen).await,
        Command::Claim(it) => it.run(screen).await,
        Command::Renew(it) => it.run(screen).await,
        Command::Finish(it) => it.run(screen).await,
        Command::Release(it) => it.run(screen).await,
        Command::Erase(it) => it.run(screen).await,
        Command::PlaceHold(it) => it.run(screen).await,
        Command::Unhold(it) => it.run(screen).await,
        Command::ListHolds(it) => it.run(screen).await,
        Command::Export(it) => it.run(screen).await,
        Command::Import(it) => it.run(screen).await,
        Command::Backup(it) => it.run(screen).await,
        Command::Restore(it) => it.run(screen).await,
        Command::Verify(it) => it.run(screen).await,
        Command::Checkpoint(it) => it.run(screen).await,
        Command::Prove(it) => it.run(screen).await,
        Command::Repair(it) => it.run(screen).await,
        Command::Compact(it) => it.run(screen).await,
        Command::Replay(it) => it.run(screen).await,
        Command::Diff(it) => it.run(screen).await,
        Command::State(it) => it.run(screen).await,
        Command::Policy(it) => it.run(screen).await,
        Command::Audit(it) => it.run(screen).await,
        Command::Evidence(it) => it.run(screen).await,
        Command::Reads(it) => it.run(screen).await,
        Command::Fixture(it) => it.run(screen).await,
    }
}

/// Prints trace events to standard error. RECOUNT_LOG overrides the level.
///
/// A service has one of its own: its warnings, such as a sink that fails, must reach its operator.
fn follow_tracing(own: Option<tracing::Level>) {
    let level = std::env::var("RECOUNT_LOG").ok();
    let level = level.and_then(|it| it.parse::<tracing::Level>().ok());
    if let Some(level) = level.or(own) {
        tracing_subscriber::fmt()
            .with_max_level(level)
            .fmt_fields(log_lines::fields())
            .with_writer(std::io::stderr)
            .init();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
