//! What happens between the lock and the first append: the log is read, its end is found, the index is brought level.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::directory::Directory;
use super::options::{Options, Progress};
use super::{After, IndexState, Opened, system};
use crate::index::{Batch, Expected, Index};
use crate::log::disk::DiskFile;
use crate::log::{
    Entry, Header, LogReader, LogWriter, SEGMENT_HEADER, SegmentHeader, Step, Written,
    segment_name, split_entries,
};
use crate::open_work::OpenWork;
use crate::verify::survey;
use crate::{Error, Hash, Head, Record};

/// Everything the store starts with.
pub(super) struct Recovered {
    pub(super) heads: BTreeMap<Uuid, Head>,
    pub(super) work: OpenWork,
    pub(super) index: Index,
    pub(super) writer: LogWriter,
    pub(super) opened: Opened,
}

/// Where a journal keeps its index.
pub(crate) fn index_place(directory: &Path) -> PathBuf {
    directory.join("sled")
}

/// Reads the log and brings the index level with it.
pub(super) fn recover(directory: &Directory, options: &Options) -> Result<Recovered, Error> {
    let journal = directory.journal;
    let place = index_place(&directory.path);
    let mut rebuilt = (!directory.created && !place.exists()).then(|| "it was missing".to_owned());
    let (mut index, mark) = match open_index(&place, options, journal) {
        Ok(opened) => opened,
        Err(why) => {
            rebuilt = Some(why);
            (fresh_index(&place, options)?, None)
        }
    };
    let header = SegmentHeader {
        journal,
        segment: 1,
        first: 1,
        chain: 0,
    };
    let mut file = open_segment(options, header, mark)?;
    let reading = || Error::io(format!("read the log of {}", directory.path.display()));
    let mut pass = match read_log(&mut *file, Some((&index, journal)), mark, options) {
        Ok(pass) => pass,
        Err(Stopped::Io(error)) => return Err(reading()(error)),
        Err(Stopped::Damaged(what)) => return Err(damaged(&mut *file, index, mark, &place, what)),
    };
    if let Some(mark) = mark.filter(|mark| mark.number > pass.last.number) {
        let what = format!(
            "the log ends at frame {}, the index knows frame {}",
            pass.last.number, mark.number
        );
        return Err(damaged(&mut *file, index, Some(mark), &place, what));
    }
    let checked = pass.index.and_then(|filled| {
        index
            .check(&pass.expected, &pass.heads, &pass.work)
            .map(|()| filled)
    });
    let state = match (checked, rebuilt) {
        (Ok(_), Some(why)) => IndexState::Rebuilt(why),
        (Ok(0), None) => IndexState::Kept,
        (Ok(_), None) if mark.is_none() && pass.last.number == 0 => IndexState::Kept,
        (Ok(commits), None) => IndexState::CaughtUp(commits),
        (Err(why), _) => {
            drop(index);
            index = fresh_index(&place, options)?;
            pass = match read_log(&mut *file, Some((&index, journal)), None, options) {
                Ok(pass) => pass,
                Err(Stopped::Io(error)) => return Err(reading()(error)),
                Err(Stopped::Damaged(what)) => {
                    return Err(damaged(&mut *file, index, None, &place, what));
                }
            };
            pass.index.map_err(|what| Error::Index {
                session: None,
                seq: None,
                what,
            })?;
            IndexState::Rebuilt(why)
        }
    };
    let writing = || {
        Error::io(format!(
            "go on with the log of {}",
            directory.path.display()
        ))
    };
    let mut writer = LogWriter::resume(file, pass.last).map_err(writing())?;
    if pass.torn > 0 && !options.read_only {
        writer.cut().map_err(writing())?;
    }
    // Even a closing record may be read that its sync never reached.
    if !options.read_only {
        let last_frame = pass.last.end - pass.last_length;
        writer
            .settle(&*options.disk, last_frame)
            .map_err(writing())?;
    }
    let after = match pass.clean {
        _ if pass.last.number == 0 => After::New,
        true if pass.torn == 0 => After::Clean,
        true | false => After::Crash,
    };
    let opened = Opened {
        after,
        index: state,
        records: pass.records,
        cut_bytes: pass.torn,
    };
    Ok(Recovered {
        heads: pass.heads,
        work: pass.work,
        index,
        writer,
        opened,
    })
}

fn open_index(
    place: &Path,
    options: &Options,
    journal: Uuid,
) -> Result<(Index, Option<Written>), String> {
    let index = Index::open(place, options.cache_bytes)?;
    let mark = index.mark(journal)?;
    Ok((index, mark))
}

/// Sets what is there aside, keeping one such directory, and begins anew.
fn fresh_index(place: &Path, options: &Options) -> Result<Index, Error> {
    let aside = place.with_file_name("sled.damaged-1");
    let moving = || Error::io(format!("set the damaged index {} aside", place.display()));
    if place.exists() {
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(moving()(error)),
            Ok(()) | Err(_) => {}
        }
        fs::rename(place, &aside).map_err(moving())?;
    }
    Index::open(place, options.cache_bytes).map_err(|what| Error::Index {
        session: None,
        seq: None,
        what,
    })
}

/// Opens the one segment, and makes it when nothing can have been in it and a journal may be made.
///
/// Whoever only looks must leave a missing log missing: an empty one in its place would verify as sound.
fn open_segment(
    options: &Options,
    header: SegmentHeader,
    mark: Option<Written>,
) -> Result<Box<dyn DiskFile>, Error> {
    let disk = &*options.disk;
    let lost = mark.is_some() || !options.create;
    let opening = || Error::io("open the log");
    let damaged = |what: String| Error::Damaged {
        session: None,
        seq: None,
        what,
    };
    let name = segment_name(header.segment);
    let names = disk.list().map_err(opening())?;
    if let Some(other) = names.iter().find(|other| **other != name) {
        return Err(damaged(format!(
            "the log has a file {other} that does not belong there"
        )));
    }
    if names.contains(&name) {
        let mut file = disk.open(&name, false).map_err(opening())?;
        match check_segment(&mut *file, header).map_err(opening())? {
            Ok(()) => return Ok(file),
            Err(what) if lost || has_frames(&mut *file).map_err(opening())? => {
                return Err(damaged(what));
            }
            Err(_) => {}
        }
    } else if lost {
        return Err(damaged(format!("the log has no file {name}")));
    }
    LogWriter::create(disk, &header).map_err(Error::io("make the log"))?;
    disk.open(&name, false).map_err(opening())
}

/// Whether a segment is the one that belongs here.
pub(crate) fn check_segment(
    file: &mut dyn DiskFile,
    expected: SegmentHeader,
) -> io::Result<Result<(), String>> {
    let mut bytes = vec![0; usize::try_from(SEGMENT_HEADER.min(file.length()?)).unwrap_or(0)];
    file.read_at(0, &mut bytes)?;
    Ok(match SegmentHeader::decode(&bytes) {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(format!(
            "the log is of journal {}, not of {}",
            found.journal, expected.journal
        )),
        None => Err("the header of the log does not hold its checksum".to_owned()),
    })
}

fn has_frames(file: &mut dyn DiskFile) -> io::Result<bool> {
    Ok(match LogReader::new(file)?.step()? {
        Step::Frame { .. } => true,
        Step::End => false,
        Step::Bad(bad) => bad.header.is_some() || bad.next.is_some(),
    })
}

/// What one reading of the log gives.
struct Pass {
    heads: BTreeMap<Uuid, Head>,
    work: OpenWork,
    expected: Expected,
    last: Written,
    last_length: u64,
    clean: bool,
    torn: u64,
    records: u64,
    /// How many commits were added to the index, or why it cannot be used.
    index: Result<u64, String>,
}

enum Stopped {
    Io(io::Error),
    Damaged(String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads the log strictly and fills the index with the commits behind its mark.
fn read_log(
    file: &mut dyn DiskFile,
    fill: Option<(&Index, Uuid)>,
    mark: Option<Written>,
    options: &Options,
) -> Result<Pass, Stopped> {
    let mut reader = LogReader::new(file)?;
    let mut pass = Pass {
        heads: BTreeMap::new(),
        work: OpenWork::default(),
        expected: Expected::default(),
        last: Written {
            number: 0,
            checksum: 0,
            end: SEGMENT_HEADER,
        },
        last_length: 0,
        clean: false,
        torn: 0,
        records: 0,
        index: Ok(0),
    };
    let mut told = 0;
    loop {
        match reader.step()? {
            Step::End => break,
            Step::Bad(bad) => {
                // The next commit is written only after the sync of this one, so what stands before a later frame was synced.
                if bad.next.is_some() {
                    return Err(Stopped::Damaged(format!(
                        "the frame at byte {} does not hold its checksum",
                        bad.at
                    )));
                }
                pass.torn = reader.length() - bad.at;
                break;
            }
            Step::Frame {
                header,
                checksum,
                end,
                payload,
            } => {
                follows(&header, pass.last)?;
                pass.last_length = end - pass.last.end;
                pass.last = Written {
                    number: header.number,
                    checksum,
                    end,
                };
                let mut batch = Batch::default();
                let fresh = mark.is_none_or(|mark| header.number > mark.number);
                read_frame(&mut pass, &header, &payload, fresh.then_some(&mut batch))?;
                if let (Some((index, journal)), true, Ok(commits)) = (fill, fresh, &pass.index) {
                    let commits = commits + 1;
                    pass.index = index.commit(batch, journal, pass.last).map(|()| commits);
                }
                if mark.is_some_and(|mark| mark.number == header.number && mark != pass.last) {
                    pass.index = Err("it was filled from another log".to_owned());
                }
            }
        }
        if reader.offset() - told > 1 << 20 {
            told = reader.offset();
            (options.progress)(Progress {
                done: told,
                total: reader.length(),
            });
        }
    }
    (options.progress)(Progress {
        done: reader.length(),
        total: reader.length(),
    });
    Ok(pass)
}

fn follows(header: &Header, last: Written) -> Result<(), Stopped> {
    if header.number == last.number + 1 && header.chain == last.checksum {
        return Ok(());
    }
    Err(Stopped::Damaged(format!(
        "frame {} stands behind frame {} and does not follow it",
        header.number, last.number
    )))
}

fn read_frame(
    pass: &mut Pass,
    header: &Header,
    payload: &[u8],
    mut batch: Option<&mut Batch>,
) -> Result<(), Stopped> {
    let mut entries = 0;
    let mut bytes = 0;
    for (body, intact) in split_entries(payload) {
        let unsound = || {
            Stopped::Damaged(format!(
                "an append of frame {} does not decode",
                header.number
            ))
        };
        let entry = Entry::decode(body).filter(|_| intact).ok_or_else(unsound)?;
        entries += 1;
        bytes += body.len() + 8;
        let head = follow_lines(pass, &entry)?;
        pass.expected.add(&entry);
        let mut rows = Vec::new();
        entry
            .work
            .iter()
            .for_each(|change| rows.extend(pass.work.apply(change)));
        if let Some(batch) = &mut batch {
            batch.add(&entry, &head, &rows);
        }
    }
    if entries == header.entries && bytes == payload.len() {
        return Ok(());
    }
    Err(Stopped::Damaged(format!(
        "frame {} holds {entries} appends instead of {}",
        header.number, header.entries
    )))
}

fn follow_lines(pass: &mut Pass, entry: &Entry<'_>) -> Result<Head, Stopped> {
    let session = entry.session;
    let start = Head {
        seq: 0,
        hash: Hash::ZERO,
        at_us: i64::MIN,
    };
    let mut head = pass.heads.get(&session).copied().unwrap_or(start);
    for (line, seq) in entry.lines.iter().zip(entry.first..) {
        let unfit =
            |what: &str| Stopped::Damaged(format!("record {seq} of session {session} {what}"));
        let record = Record::parse(line).map_err(|malformed| unfit(&malformed.to_string()))?;
        let follows = record.session == session && record.seq == seq && seq == head.seq + 1;
        if !follows || record.prev != head.hash || record.at_us < head.at_us {
            return Err(unfit("does not follow the record before"));
        }
        head = Head {
            seq,
            hash: Hash::of_line(line),
            at_us: record.at_us,
        };
        pass.clean = session.is_nil() && record.kind == system::CLOSED;
        pass.records += 1;
    }
    pass.heads.insert(session, head);
    Ok(head)
}

/// Says which session and seq the damage is at, by reading everything that can be read.
fn damaged(
    file: &mut dyn DiskFile,
    index: Index,
    mark: Option<Written>,
    place: &Path,
    what: String,
) -> Error {
    let found =
        survey::of_log(file, mark.map(|mark| (&index, mark))).map(|survey| survey.findings());
    drop(index);
    if mark.is_none() {
        // An index that was begun from a damaged log witnesses nothing; the verdict stands whether it goes or not.
        let _left = fs::remove_dir_all(place);
    }
    let placed = found.ok().and_then(|findings| {
        let first = findings
            .iter()
            .position(|finding| finding.session.is_some())
            .unwrap_or(0);
        findings.into_iter().nth(first)
    });
    match placed {
        Some(finding) => Error::Damaged {
            session: finding.session,
            seq: finding.seq,
            what: format!("{}; {what}", finding.what),
        },
        None => Error::Damaged {
            session: None,
            seq: None,
            what,
        },
    }
}
