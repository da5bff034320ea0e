//! `recount fixture`: recorded conversations, played, written down anew, brought up to date, and
//! taken from journals.

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

/// Plays recorded conversations, writes down what comes of them, and takes them from journals.
///
/// Nothing but what is on record takes part: the recorded model, and tools that do what they did. A
/// conversation in which the program's own code decided is played in a test of the program.
#[derive(Subcommand)]
pub(crate) enum Fixtures {
    Test(Test),
    Update(Update),
    Migrate(Migrate),
    Export(Export),
}

/// Plays fixtures and tells where they come to another story.
#[derive(Args)]
pub(crate) struct Test {
    /// The directories of the fixtures.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Prints JSON lines, one a fixture.
    #[arg(long)]
    json: bool,
}

/// Plays fixtures and writes down what came of them: the story, and what the model was sent.
#[derive(Args)]
pub(crate) struct Update {
    /// The directories of the fixtures.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Prints JSON lines, one a fixture.
    #[arg(long)]
    json: bool,
}

/// Rewrites fixtures of older formats in the format of this version.
#[derive(Args)]
pub(crate) struct Migrate {
    /// The directories of the fixtures.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Prints JSON lines, one a fixture.
    #[arg(long)]
    json: bool,
}

/// Makes a fixture of a session that a journal holds.
///
/// A journal has no audio, no frames as they came, and not the words of answers that were refused;
/// docs/fixtures.md says what follows.
#[derive(Args)]
pub(crate) struct Export {
    /// The directory of the journal.
    path: PathBuf,
    /// The session: its id, or a unique beginning of it.
    session: String,
    /// The directory to write, which holds no fixture yet.
    dir: PathBuf,
    /// Takes out what stands at this JSON Pointer, at every depth; may be given several times.
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
        let (mut other, mut unusable) = (0_usize, Unusable::of(&self.dirs, "played", self.json));
        for dir in &self.dirs {
            let played = match played(dir).and_then(with_story) {
                Ok(played) => played,
                Err(failure) => {
                    unusable.tell(dir, failure, screen)?;
                    continue;
                }
            };
            let report = played.report();
            other += usize::from(!report.is_empty());
            if self.json {
                screen.json(&as_json(dir, &played))?;
            } else if report.is_empty() {
                screen.line(&format!("{}: as recorded", shown(dir)))?;
            } else {
                screen.toned(Tone::Heading, &shown(dir))?;
                show(&report, screen)?;
            }
        }
        let all = count(self.dirs.len(), "fixture");
        if !self.json {
            match (other, unusable.len()) {
                (0, 0) => screen.toned(Tone::Good, &format!("Played as recorded: {all}"))?,
                (other, 0) => {
                    screen.toned(Tone::Bad, &format!("{other} of {all} went another way"))?;
                }
                (_, 1) if self.dirs.len() == 1 => {}
                (other, unusable) => {
                    let told = format!(
                        "Of {all}: {} as recorded, {other} went another way, {unusable} not played",
                        self.dirs.len() - other - unusable
                    );
                    screen.toned(Tone::Bad, &told)?;
                }
            }
        }
        match other {
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
                    unusable.tell(dir, failure, screen)?;
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
                screen.line(&format!("{}: as it was", shown(dir)))?;
            }
        }
        if !self.json && self.dirs.len() > 1 {
            let (all, left) = (count(self.dirs.len(), "fixture"), unusable.len());
            let kept = self.dirs.len() - updated - left;
            screen.line(&format!(
                "Of {all}: {updated} updated, {kept} as it was, {left} not played"
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
                    unusable.tell(dir, error.into(), screen)?;
                    continue;
                }
            };
            let migrated = format < FORMAT;
            if self.json {
                screen.json(&json!({"fixture": dir, "format": format, "migrated": migrated}))?;
            } else {
                let what = match migrated {
                    true => format!("of format {format}, rewritten as {FORMAT}"),
                    false => format!("of format {format}, which is current"),
                };
                screen.line(&format!("{}: {what}", shown(dir)))?;
            }
        }
        unusable.end()
    }
}

/// The fixtures that could not be used: each is told in its place, and those behind it are used all
/// the same.
struct Unusable {
    of: usize,
    /// What they were to be, such as `played`.
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

    fn tell(&mut self, dir: &Path, failure: Failure, screen: &mut Screen) -> Result<(), Failure> {
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

    /// What the program ends with, if nothing else is to be said: the first failure stands for all.
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

/// What was played, if there is a story to hold it against.
fn with_story(played: Played) -> Result<Played, Failure> {
    if played.has_story() {
        return Ok(played);
    }
    let what = "there is no story.txt, so nothing says what should come of it";
    Err(Failure::new("no-story", what)
        .advice("`recount fixture update DIR` writes down what comes of it now"))
}

/// Plays a fixture and writes down what came of it, where that is another story; in words, what is
/// another.
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
        // Its files go into the directory, so that is no journal itself either.
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
                    let told = format!(
                        "Warning: nothing stands at {pointer}, so nothing was taken out for it"
                    );
                    screen.toned(Tone::Bad, &told)?;
                } else {
                    let places = count(*times, "place");
                    screen.line(&format!("Taken out of {places}: {pointer}"))?;
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

/// A report in colour: what is on record and was not played, and the other way round.
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
