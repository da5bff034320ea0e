//! `recount fixture`: tests, updates, migrates and exports recorded conversations.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::journal::{Keys, UnknownKinds, ids};
use crate::terminal::{Screen, Tone};
use crate::text::{count, one_line, shown};
use recount::fixture::{FORMAT, Fixture};
use recount::play::Played;
use recount::story::Change;

/// Tests recorded conversations, updates them, and exports them from journals.
///
/// A fixture is played with the recorded words of the model and the recorded results of the tools.
/// If code of the program decided in a conversation, play the fixture in a test of the program.
#[derive(Subcommand)]
pub(crate) enum Fixtures {
    Test(Test),
    Update(Update),
    Migrate(Migrate),
    Export(Export),
}

/// Plays fixtures and shows where the result differs from the recorded story.
#[derive(Args)]
pub(crate) struct Test {
    /// The directories of the fixtures.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Prints JSON lines, one for each fixture.
    #[arg(long)]
    json: bool,
}

/// Plays fixtures and writes the result into them: the story, and the messages to the model.
#[derive(Args)]
pub(crate) struct Update {
    /// The directories of the fixtures.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Prints JSON lines, one for each fixture.
    #[arg(long)]
    json: bool,
}

/// Rewrites fixtures of older formats in the format of this version.
#[derive(Args)]
pub(crate) struct Migrate {
    /// The directories of the fixtures.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Prints JSON lines, one for each fixture.
    #[arg(long)]
    json: bool,
}

/// Makes a fixture from a session of a journal.
///
/// A journal has no audio, no raw messages of the service, and no text of refused answers;
/// docs/fixtures.md explains the consequences.
#[derive(Args)]
pub(crate) struct Export {
    /// The directory of the journal.
    path: PathBuf,
    /// The session: its id, or a unique beginning of it.
    session: String,
    /// The directory to write, without a fixture.
    dir: PathBuf,
    /// Redacts the value at this JSON Pointer, at every depth; may be given several times.
    #[arg(long, value_name = "POINTER")]
    redact: Vec<String>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Fixtures {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        match self {
            Fixtures::Test(it) => it.run(screen),
            Fixtures::Update(it) => it.run(screen),
            Fixtures::Migrate(it) => it.run(screen),
            Fixtures::Export(it) => it.run(screen).await,
        }
    }
}

impl Test {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let (mut failed, mut unusable) = (0_usize, Unusable::of(&self.dirs, "played", self.json));
        for dir in &self.dirs {
            let played = match played(dir).and_then(with_story) {
                Ok(played) => played,
                Err(failure) => {
                    unusable.add(dir, failure, screen)?;
                    continue;
                }
            };
            let report = played.report();
            failed += usize::from(!report.is_empty());
            if self.json {
                screen.json(&as_json(dir, &played))?;
            } else if report.is_empty() {
                screen.line(&format!("{}: passed", shown(dir)))?;
            } else {
                screen.toned(Tone::Heading, &format!("{}: failed", shown(dir)))?;
                show(&report, screen)?;
            }
        }
        let all = self.dirs.len();
        if !self.json {
            match (failed, unusable.len()) {
                (0, 0) => screen.toned(Tone::Good, &format!("{all} of {all} passed"))?,
                (failed, 0) => screen.toned(Tone::Bad, &format!("{failed} of {all} failed"))?,
                (_, 1) if all == 1 => {}
                (failed, unusable) => {
                    let passed = all - failed - unusable;
                    let counts =
                        format!("{passed} of {all} passed, {failed} failed, {unusable} not played");
                    screen.toned(Tone::Bad, &counts)?;
                }
            }
        }
        match failed {
            0 => unusable.end(),
            _ => Ok(Exit::Diverged),
        }
    }
}

impl Update {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let (mut updated, mut unusable) = (0_usize, Unusable::of(&self.dirs, "played", self.json));
        for dir in &self.dirs {
            let report = match update(dir) {
                Ok(report) => report,
                Err(failure) => {
                    unusable.add(dir, failure, screen)?;
                    continue;
                }
            };
            let changed = !report.is_empty();
            updated += usize::from(changed);
            if self.json {
                screen.json(&json!({"fixture": dir, "updated": changed, "report": report}))?;
            } else if changed {
                screen.toned(Tone::Heading, &format!("{}: updated", shown(dir)))?;
                show(&report, screen)?;
            } else {
                screen.line(&format!("{}: unchanged", shown(dir)))?;
            }
        }
        if !self.json && self.dirs.len() > 1 {
            let (all, left) = (self.dirs.len(), unusable.len());
            let kept = all - updated - left;
            screen.line(&format!(
                "{updated} of {all} updated, {kept} unchanged, {left} not played"
            ))?;
        }
        unusable.end()
    }
}

impl Migrate {
    fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut unusable = Unusable::of(&self.dirs, "migrated", self.json);
        for dir in &self.dirs {
            let format = match Fixture::migrate(dir) {
                Ok(format) => format,
                Err(error) => {
                    unusable.add(dir, error.into(), screen)?;
                    continue;
                }
            };
            let migrated = format < FORMAT;
            if self.json {
                screen.json(&json!({"fixture": dir, "format": format, "migrated": migrated}))?;
            } else {
                let what = match migrated {
                    true => format!("format {format}, rewritten in format {FORMAT}"),
                    false => format!("format {format}, which is current"),
                };
                screen.line(&format!("{}: {what}", shown(dir)))?;
            }
        }
        unusable.end()
    }
}

/// The fixtures that could not be used. The fixtures after them are still used.
struct Unusable {
    of: usize,
    /// The participle for the message, such as `played`.
    done: &'static str,
    json: bool,
    all: Vec<(String, Failure)>,
}

impl Unusable {
    fn of(dirs: &[PathBuf], done: &'static str, json: bool) -> Unusable {
        Unusable {
            of: dirs.len(),
            done,
            json,
            all: Vec::new(),
        }
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    fn add(&mut self, dir: &Path, failure: Failure, screen: &mut Screen) -> Result<(), Failure> {
        let (code, what) = (failure.code.as_ref(), failure.what.as_str());
        if self.json {
            screen.json(&json!({"fixture": dir, "error": {"code": code, "what": what}}))?;
        } else if self.of > 1 {
            let line = format!("{}: not {}: {what}", shown(dir), self.done);
            screen.toned(Tone::Bad, &line)?;
        }
        self.all.push((shown(dir), failure));
        Ok(())
    }

    /// The end of the program: the first failure stands for all.
    fn end(self) -> Result<Exit, Failure> {
        let (left, of) = (self.all.len(), count(self.of, "fixture"));
        let done = self.done;
        let Some((dir, mut failure)) = self.all.into_iter().next() else {
            return Ok(Exit::Ok);
        };
        if self.of > 1 {
            let what = failure.what;
            failure.what = format!("{left} of {of} not {done}; the first is {dir}: {what}");
        }
        Err(failure)
    }
}

fn played(dir: &Path) -> Result<Played, Failure> {
    Ok(Fixture::load(dir)?.play_by_itself()?)
}

/// The played fixture, if it has a story to compare with.
fn with_story(played: Played) -> Result<Played, Failure> {
    if played.has_story() {
        return Ok(played);
    }
    let what = "there is no story.txt to compare with";
    Err(Failure::new("no-story", what)
        .advice("`recount fixture update DIR` plays it and writes the result"))
}

/// Plays a fixture and saves the result if it differs. Returns the differences as text.
fn update(dir: &Path) -> Result<String, Failure> {
    let played = played(dir)?;
    let report = played.report();
    if !report.is_empty() {
        played.updated().save(dir)?;
    }
    Ok(report)
}

impl Export {
    async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        if let Some(wrong) = self.redact.iter().find(|it| !it.starts_with('/')) {
            let what = format!("expected a JSON Pointer such as /card, found {wrong:?}");
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
        // The files go into the directory, so the directory itself must be no journal either.
        destination::outside_journals(&self.dir.join("fixture.json"))?;
        let ledger = self.unknown.looking(&self.path, &self.keys, screen)?;
        let session = ids::session(&ledger, &self.session).await?;
        let exported = Fixture::export_to(&ledger, session, &self.redact, &self.dir).await?;
        let steps = exported.fixture.steps().len();
        if self.json {
            screen.json(&json!({
                "fixture": self.dir, "session": session, "steps": steps, "met": exported.met,
            }))?;
        } else {
            let (dir, steps) = (shown(&self.dir), count(steps, "step"));
            screen.line(&format!("Exported session {session} to {dir}: {steps}"))?;
            for (pointer, times) in &exported.met {
                let pointer = one_line(pointer);
                if *times == 0 {
                    let warning =
                        format!("Warning: there is no value at {pointer}, so nothing was redacted");
                    screen.toned(Tone::Bad, &warning)?;
                } else {
                    let places = count(*times, "place");
                    screen.line(&format!("Redacted in {places}: {pointer}"))?;
                }
            }
        }
        Ok(Exit::Ok)
    }
}

fn as_json(dir: &Path, played: &Played) -> Value {
    let line = |it: &Change| match it {
        Change::Kept(line) => json!({"kept": line}),
        Change::Removed(line) => json!({"recorded": line}),
        Change::Added(line) => json!({"played": line}),
        Change::Skipped(lines) => json!({"skipped": lines}),
    };
    let story = played.difference();
    let story = story.map(|it| it.changes().iter().map(line).collect::<Vec<_>>());
    let sent = played.sent_otherwise().into_iter();
    let sent = sent.map(|(recorded, played)| json!({"recorded": recorded, "played": played}));
    json!({
        "fixture": dir,
        "as_recorded": played.is_as_recorded(),
        "story": story,
        "sent_otherwise": sent.collect::<Vec<_>>(),
        "undone": played.undone(),
    })
}

/// Shows a report in colour: recorded lines that were not played, and the other way round.
fn show(report: &str, screen: &mut Screen) -> Result<(), Failure> {
    for line in report.lines() {
        let tone = match line.get(..2) {
            Some("- ") => Tone::Bad,
            Some("+ ") => Tone::Good,
            Some(_) | None => Tone::Plain,
        };
        screen.toned(tone, &one_line(line))?;
    }
    Ok(())
}
