//! The command `recount reads`: who read which sessions, from the access journal.

use clap::Args;
use recount_reads::{Depth, Door, How, Missed, OnRecord, RecordedRead, Switch, on_record};
use serde_json::{Value, json};

use super::asked::{begin, end};
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, access_path, opening};
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::session::{SessionId, Timestamp};
use recount_telling::{acted, age, count, cut, one_line, shown};

/// The number of sessions that a line names. JSON has all.
const SESSIONS: usize = 3;

/// Lists who read which sessions, oldest first, as `recount serve` recorded it.
///
/// The record is a journal of its own, JOURNAL.access, without bodies and tokens. `verify`,
/// `export` and `checkpoint list` take its directory, too. Reads of files on this machine are not
/// on record: commands such as `recount log` and `recount audit` read the journal itself.
#[derive(Args)]
pub(crate) struct Reads {
    /// The directory of the journal, its access journal, or an export of the latter.
    path: Location,
    /// Selects reads of this session, and those of every session; a beginning of the id is enough.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Selects reads by the person or program of this name.
    #[arg(long, value_name = "NAME")]
    reader: Option<String>,
    /// Selects reads from this time on: 2026-11-01, in the zone of --tz, or 2026-11-01T09:30:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Selects reads up to this time; a date includes the whole day.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Prints JSON lines.
    #[arg(long)]
    json: bool,
}

/// The times and names that are selected.
struct Selected {
    session: Option<String>,
    reader: Option<String>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Reads {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let selected = Selected {
            session: self.session.map(|it| it.to_lowercase()),
            reader: self.reader,
            from: self.from.as_deref().map(begin).transpose()?,
            until: self.to.as_deref().map(end).transpose()?,
        };
        let path = place(self.path)?;
        let ledger = opening::looking(&path, &Keys::default(), screen)?;
        let mut found = on_record(&**ledger.journal()).await?;
        found.reads.retain(|it| selected.takes(it));
        found.missed.retain(|it| selected.covers(it.from, it.until));
        found.switches.retain(|(at, _)| selected.covers(*at, *at));
        match self.json {
            true => as_lines(&found, screen)?,
            false => show(&found, screen)?,
        }
        Ok(Exit::Ok)
    }
}

/// The access journal that a path names.
fn place(given: Location) -> Result<Location, Failure> {
    let advice = "each node has its own, in the directory `state` of [postgres]: \
                  `recount reads recount-state/journal.access`";
    let path = given.files("reads", advice)?;
    let is_access = path.extension().is_some_and(|it| it == "access");
    if given.is_export() || is_access {
        return Ok(given);
    }
    let beside = access_path(path);
    if beside.exists() {
        return Ok(Location::Path(beside));
    }
    let what = format!("there is no access journal at {}", shown(&beside));
    let failure = Failure::new("no-journal", what);
    Err(failure.advice("`recount serve` records reads there; other commands record none"))
}

impl Selected {
    fn takes(&self, it: &RecordedRead) -> bool {
        let names = |id: &SessionId| {
            let given = self.session.as_deref().unwrap_or_default();
            id.to_string().starts_with(given) || id.0.simple().to_string().starts_with(given)
        };
        let read = &it.read;
        let is_of = self.session.is_none() || read.every_session || read.sessions.iter().any(names);
        is_of
            && self.reader.as_ref().is_none_or(|it| *it == read.by.name)
            && self.covers(it.at, it.last)
    }

    /// True if a part of the time is selected.
    fn covers(&self, first: Timestamp, last: Timestamp) -> bool {
        self.from.is_none_or(|from| last >= from) && self.until.is_none_or(|until| first < until)
    }
}

fn as_lines(found: &OnRecord, screen: &mut Screen) -> Result<(), Failure> {
    let reads = found.reads.iter().map(|it| (it.at, read_line(it)));
    let missed = found.missed.iter().map(|it| (it.from, missed_line(it)));
    let switches = found.switches.iter().map(|(at, switch)| {
        let recording = match switch {
            Switch::Began => "began",
            Switch::Ended => "ended",
            Switch::Off => "off",
        };
        (*at, json!({"recording": recording, "at": age::stamp(*at)}))
    });
    let mut lines: Vec<(Timestamp, Value)> = switches.chain(missed).chain(reads).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines.iter().try_for_each(|(_, line)| screen.json(line))
}

fn read_line(it: &RecordedRead) -> Value {
    json!({
        "read": it.read,
        "at": age::stamp(it.at),
        "repeats": it.repeats,
        "last_at": age::stamp(it.last),
        "stream": it.stream,
        "seq": it.seq,
    })
}

fn missed_line(it: &Missed) -> Value {
    json!({
        "missed": it.reads,
        "at": age::stamp(it.from),
        "until": age::stamp(it.until),
        "error": it.error,
    })
}

fn show(found: &OnRecord, screen: &mut Screen) -> Result<(), Failure> {
    let note = "Reads through the service. Reads of the journal's files, as by `recount log`, are \
                not on record.";
    screen.toned(Tone::Quiet, note)?;
    for it in &found.reads {
        show_read(it, screen)?;
    }
    if found.reads.is_empty() {
        screen.line("No read is selected.")?;
    }
    for it in &found.missed {
        let (from, until) = (age::moment(it.from), age::moment(it.until));
        let reads = count(it.reads, "read");
        let error = one_line(&it.error);
        let line = format!("{reads} without a record from {from} to {until}: {error}");
        screen.toned(Tone::Bad, &line)?;
    }
    for (at, _) in found.switches.iter().filter(|(_, it)| *it == Switch::Off) {
        let line = format!("{}  the recording was switched off", age::moment(*at));
        screen.toned(Tone::Bad, &line)?;
    }
    Ok(())
}

fn show_read(it: &RecordedRead, screen: &mut Screen) -> Result<(), Failure> {
    let read = &it.read;
    let by = acted("", &read.by);
    let head = format!(
        "{}  {}  {}",
        age::moment(it.at),
        by.trim_start(),
        read.route
    );
    screen.toned(Tone::Heading, &cut(&one_line(&head), COLUMNS))?;
    let door = match read.door {
        Door::Http => "HTTP API",
        Door::Pages => "page",
        Door::Control => "control socket",
    };
    let how = match read.how {
        How::Token => "token",
        How::Jwt => "JWT",
        How::Proxy => "proxy",
        How::Embedder => "embedding service",
        How::Login => "login",
        How::LoginWithToken => "login with a token",
        How::ControlToken => "token of the control socket",
    };
    let depth = match read.depth {
        Depth::Envelopes => "without bodies",
        Depth::Bodies => "with bodies",
    };
    let mut about = format!("  {door}, {how}, {depth}");
    if it.repeats > 0 {
        let times = count(it.repeats, "more time");
        about.push_str(&format!(", {times} until {}", age::moment(it.last)));
    }
    screen.line(&about)?;
    if !read.is_served() {
        screen.toned(Tone::Bad, &format!("  refused with status {}", read.status))?;
    }
    if read.every_session {
        screen.line("  every session that the reader may see")?;
    }
    for id in read.sessions.iter().take(SESSIONS) {
        screen.line(&format!("  session {id}"))?;
    }
    match read.sessions.len().saturating_sub(SESSIONS) {
        0 => Ok(()),
        more => screen.line(&format!("  and {}", count(more, "more session"))),
    }
}
