//! The rewriting of a log: it reads all sources in the order of the log, writes what survives, and
//! reports the rest.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Bound;

use serde_json::json;
use uuid::Uuid;

use super::appends::readable;
use super::new_log::NewLog;
use super::report::{Damage, Remedy, Repaired};
use super::sources::{FrameReader, Piece, Place, Sources, Whole};
use super::streams::{Streams, Verdict};
use super::witness::Witness;
use crate::files::disk::{Disk, RealDisk};
use crate::files::private::anew;
use crate::files::swap::{LOG_PART, Names, SALVAGE_PART};
use crate::index::Index;
use crate::log::{FRAME_HEADER, FrameBytes};
use crate::store::directory::claim::Directory;
use crate::store::system;
use crate::{Append, Line, Object};

/// The maximum bytes of objects in one append of the repair itself.
const OBJECTS_AT_ONCE: usize = 64 << 20;

/// A repair in progress.
pub(super) struct Rewriting<'r> {
    directory: &'r Directory,
    names: &'r Names,
    disk: &'r dyn Disk,
    witness: &'r Witness,
    /// The last frame whose records the index can name.
    named_up_to: u64,
    streams: Streams,
    new_log: NewLog<'r>,
    salvage: Option<BufWriter<File>>,
    salvaged: usize,
    is_dry: bool,
    report: Repaired,
}

impl<'r> Rewriting<'r> {
    pub(super) fn new(
        directory: &'r Directory,
        names: &'r Names,
        disk: &'r dyn Disk,
        witness: &'r Witness,
        report: Repaired,
    ) -> Self {
        Self {
            directory,
            names,
            disk,
            witness,
            named_up_to: 0,
            streams: Streams::default(),
            new_log: NewLog::new(None, directory.journal),
            salvage: None,
            salvaged: 0,
            is_dry: true,
            report,
        }
    }

    /// True if no record could be read.
    pub(super) fn is_empty(&self) -> bool {
        self.streams.records == 0 && self.salvaged == 0
    }

    /// Reads all sources and, unless it is a dry run, writes the new log. The old log once reached
    /// at least the frame `noted`.
    pub(super) fn read(&mut self, is_dry: bool, noted: u64) -> io::Result<()> {
        self.is_dry = is_dry;
        if !is_dry {
            let disk = RealDisk::new(self.names.path(LOG_PART));
            self.new_log = NewLog::new(Some((disk, self.names)), self.directory.journal);
        }
        let mut sources = Sources::of_log(self.disk, self.directory.journal)?;
        let index = self.index(&mut sources);
        self.report.damages.append(&mut sources.damages);
        let (history, others) = sources.history();
        let mut reader = FrameReader::new(self.disk, &sources.files, index);
        let mark = self.witness.mark.map_or(0, |mark| mark.number);
        let numbers: BTreeSet<u64> = history
            .keys()
            .chain(sources.pieces.keys())
            .copied()
            .chain([mark, noted].into_iter().filter(|known| *known > 0))
            .collect();
        self.report.identical = others.is_empty();
        let mut before = 0;
        for number in numbers {
            if number > before + 1 {
                self.missing(before + 1, number - 1);
            }
            before = number;
            let pieces = sources.pieces.get(&number).map(Vec::as_slice);
            let pieces = pieces.unwrap_or_default();
            match history.get(&number) {
                Some(whole) => self.whole(&mut reader, number, *whole, pieces)?,
                None if pieces.is_empty() => self.missing(number, number),
                None => self.report.identical = false,
            }
            for piece in pieces {
                let restored = history.contains_key(&number);
                self.piece(&mut reader, number, *piece, restored)?;
            }
        }
        self.others(&mut reader, &others)?;
        let proven = self.streams.proven();
        self.salvage(&proven)
    }

    /// Adds the index to the sources, and its knowledge to the streams.
    fn index(&mut self, sources: &mut Sources) -> Option<&'r Index> {
        let index = self.witness.index.as_ref()?;
        let is_ours = self.witness.mark.is_some();
        let shared = sources.add_index(index, is_ours).unwrap_or(false);
        if let Some(what) = &self.witness.trouble {
            self.report.notes.push(what.clone());
        }
        if is_ours && let Ok(heads) = index.heads(Bound::Unbounded, usize::MAX) {
            for (session, head) in heads {
                self.streams.known_head(session, &head);
            }
            self.named_up_to = self.witness.mark.map_or(0, |mark| mark.number);
        }
        for hash in index.objects().into_iter().filter(|_| is_ours) {
            self.streams.known_object(hash);
        }
        shared.then_some(index)
    }

    fn damage(&mut self, frames: (u64, u64), what: String, remedy: Remedy) {
        self.report.damages.push(Damage {
            frames: Some(frames),
            what,
            remedy,
        });
    }

    fn missing(&mut self, from: u64, to: u64) {
        self.report.identical = false;
        self.damage((from, to), frames_are(from, to, "missing"), Remedy::Lost);
        let named = self.named_up_to.min(to);
        self.report.frames_unnamed += to.saturating_sub(named.max(from - 1));
    }

    /// Writes the surviving appends of a complete frame.
    fn whole(
        &mut self,
        reader: &mut FrameReader<'_>,
        number: u64,
        whole: Whole,
        pieces: &[Piece],
    ) -> io::Result<()> {
        let frame_bytes = reader.read(number, whole.place)?;
        let living = self.living(&frame_bytes)?;
        if !living.is_empty() {
            let segment = reader.segment(whole.place);
            self.new_log.frame(&living, segment)?;
        }
        let written = self.new_log.last;
        self.report.identical &= (written.number, written.checksum) == (number, whole.checksum);
        match whole.place {
            Place::Log { .. } => {}
            Place::Index => {
                self.report.frames_from_index += 1;
                if pieces.is_empty() {
                    self.restored(number);
                }
            }
        }
        Ok(())
    }

    /// Reports a frame that only the index had, together with the frames before it.
    fn restored(&mut self, number: u64) {
        if let Some(last) = self.report.damages.last_mut()
            && last.remedy == Remedy::Index
            && let Some((from, to)) = &mut last.frames
            && *to + 1 == number
        {
            *to = number;
            last.what = frames_are(*from, number, "missing");
        } else {
            let what = frames_are(number, number, "missing");
            self.damage((number, number), what, Remedy::Index);
        }
    }

    /// Returns the surviving appends of a sound frame, with their headers.
    fn living<'b>(&mut self, frame_bytes: &'b FrameBytes) -> io::Result<Vec<&'b [u8]>> {
        let (found, _) = readable(frame_bytes.payload());
        let mut living = Vec::with_capacity(found.len());
        for append in found {
            match self.streams.accept(&append.decoded, true) {
                Verdict::Lives => living.push(append.bytes),
                Verdict::Twice => {}
                Verdict::Salvaged(lines) => self.salvage(&lines)?,
            }
        }
        Ok(living)
    }

    /// Takes the appends of an unsound frame that have valid checksums.
    fn piece(
        &mut self,
        reader: &mut FrameReader<'_>,
        number: u64,
        piece: Piece,
        is_restored: bool,
    ) -> io::Result<()> {
        let place = Place::Log {
            file: piece.file,
            at: piece.at,
        };
        let frame_bytes = reader.read(number, place)?;
        // The frame's header may be lost.
        let (found, is_all) = readable(frame_bytes.0.get(FRAME_HEADER..).unwrap_or(&frame_bytes.0));
        // An opening would cut off unknown bytes at the very end.
        let may_be_unfinished = piece.is_tail && number > self.named_up_to;
        let (mut living, mut taken, mut all_named) = (Vec::new(), 0, is_all);
        for append in &found {
            if append.is_intact {
                match self.streams.accept(&append.decoded, true) {
                    Verdict::Lives => {
                        living.push(append.bytes);
                        taken += 1;
                    }
                    Verdict::Twice => {}
                    Verdict::Salvaged(lines) => {
                        self.salvage(&lines)?;
                        taken += 1;
                    }
                }
            } else if !is_restored && !may_be_unfinished {
                all_named &= self.streams.broken(&append.decoded);
            }
        }
        let segment = reader.segment(place);
        if !living.is_empty() {
            self.new_log.frame(&living, segment)?;
        }
        if may_be_unfinished && taken == 0 && !is_restored {
            self.report.cut_bytes += frame_bytes.0.len() as u64;
            return Ok(());
        }
        let segment = segment.unwrap_or_default();
        let what = format!(
            "frame {number} of the log, at byte {} of segment {segment}, \
             does not hold its checksum",
            piece.at
        );
        let remedy = match (taken, is_restored) {
            (0, true) => Remedy::Index,
            (0, false) => Remedy::Lost,
            (count, _) => Remedy::Appends(count),
        };
        self.damage((number, number), what, remedy);
        let is_named = all_named || number <= self.named_up_to || may_be_unfinished;
        self.report.frames_unnamed += u64::from(!is_restored && !is_named);
        Ok(())
    }

    /// Salvages the records that only frames of other histories have.
    fn others(&mut self, reader: &mut FrameReader<'_>, others: &[(u64, Whole)]) -> io::Result<()> {
        for (number, whole) in others {
            let frame_bytes = reader.read(*number, whole.place)?;
            for append in readable(frame_bytes.payload()).0 {
                if let Verdict::Salvaged(lines) = self.streams.accept(&append.decoded, false) {
                    self.salvage(&lines)?;
                }
            }
            let whose = match whole.place {
                Place::Log { .. } => "the log",
                Place::Index => "the index",
            };
            let what = format!("frame {number} of {whose} is of another, shorter history");
            self.damage((*number, *number), what, Remedy::SetAside);
        }
        Ok(())
    }

    fn salvage(&mut self, lines: &[Line]) -> io::Result<()> {
        self.salvaged += lines.len();
        if self.is_dry || lines.is_empty() {
            return Ok(());
        }
        let out = match &mut self.salvage {
            Some(out) => out,
            None => {
                let file = anew(&self.names.path(SALVAGE_PART))?;
                self.salvage.insert(BufWriter::new(file))
            }
        };
        for line in lines {
            out.write_all(line.bytes())?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Ends the new log with the record of the repair, and makes everything durable.
    pub(super) fn finish(mut self, program: &str, now_us: i64) -> io::Result<Repaired> {
        self.report.records = self.streams.records;
        self.report.sessions = self.streams.sessions();
        self.report.was_closed = self.streams.closed;
        self.report.hurt = self.streams.hurt();
        self.report.objects_lost = self.streams.objects_lost();
        if self.report.damages.is_empty() {
            // Each part is sound by itself, but an opening rejects the whole.
            self.report.damages.push(Damage {
                frames: None,
                what: "the log does not hold together".to_owned(),
                remedy: Remedy::Rewritten,
            });
        }
        if self.is_dry {
            return Ok(self.report);
        }
        self.tell(program, now_us)?;
        if let Some(salvage) = self.salvage {
            self.names.step("sync the salvage file");
            salvage.into_inner()?.sync_all()?;
        }
        self.new_log.finish()?;
        Ok(self.report)
    }

    fn tell(&mut self, program: &str, now_us: i64) -> io::Result<()> {
        let report = &self.report;
        let body = json!({
            "program": program,
            "damages": report.damages.len(),
            "records": report.records,
            "identical": report.identical,
            "frames_from_index": report.frames_from_index,
            "frames_unnamed": report.frames_unnamed,
            "sessions_hurt": report.hurt.len(),
            "records_salvaged": report.records_salvaged(),
            "records_lost": report.records_lost(),
            "objects_lost": report.objects_lost.len(),
            "cut_bytes": report.cut_bytes,
        });
        let mut head = self.streams.head(Uuid::nil());
        let mut objects = self.streams.orphans().into_iter().peekable();
        loop {
            let mut own = system::repaired(head.as_ref(), now_us, &body.to_string());
            own.objects = some(&mut objects);
            head = system::head_of(&own);
            self.own(&own)?;
            if objects.peek().is_none() {
                break;
            }
        }
        self.own(&system::closed(head.as_ref(), now_us))
    }

    fn own(&mut self, append: &Append) -> io::Result<()> {
        let bytes = crate::log::encode_append(append, |_| false).bytes;
        self.new_log.frame(&[&bytes], None).map(drop)
    }
}

/// Takes as many objects as fit into one append, at least one if there is any.
fn some(objects: &mut std::iter::Peekable<std::vec::IntoIter<Object>>) -> Vec<Object> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    while let Some(next) =
        objects.next_if(|it| bytes == 0 || bytes + it.bytes.len() <= OBJECTS_AT_ONCE)
    {
        bytes += next.bytes.len();
        taken.push(next);
    }
    taken
}

fn frames_are(from: u64, to: u64, what: &str) -> String {
    if from == to {
        format!("frame {from} of the log is {what}")
    } else {
        format!("frames {from} to {to} of the log are {what}")
    }
}
