//! The reading of records, of many streams at once: one lock of the state serves all of them, and
//! neighbours in the log are read together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::group_commit::queue::Shared;
use super::reading::bytes_in_frame;
use crate::index::Index;
use crate::index::{Position, Stream};
use crate::log::{FrameBytes, LoggedAppend};
use crate::{Error, Line, Span};

/// The state of the stream of a span.
#[derive(Default)]
struct Known {
    /// The last seq of the stream; 0 if it does not exist.
    last: u64,
    /// The first seq of its recent appends. Earlier appends are in groups of the index.
    recent: u64,
    /// The number of its recent appends that the span needs.
    wanted: usize,
}

/// An append from which a span needs records.
struct WantedAppend<'s> {
    span: &'s Span,
    position: Position,
    /// The frame of the append, unless the index has it.
    frame_bytes: Option<Arc<FrameBytes>>,
}

/// The state of the stream of each span, and the recent appends that all spans need, in order.
type Recent<'s> = (Vec<Known>, Vec<WantedAppend<'s>>);

/// The records of an append that are in a span, or the fault of the append.
type Taken = Result<Vec<Line>, String>;

impl Shared {
    /// Reads the records of each span. The state is locked during the lookup, so the spans should
    /// be few.
    pub(super) fn read(&self, index: &Index, spans: &[Span]) -> Result<Vec<Vec<Line>>, Error> {
        let (known, appends) = self.recent(index, spans)?;
        let taken = self.records_of(index, &appends);
        let mut taken = appends.iter().zip(taken);
        let mut pages = Vec::with_capacity(spans.len());
        for (span, known) in spans.iter().zip(known) {
            let mut page = Page::of(span);
            if page.seq <= known.last {
                page.put_older(self, index, known.recent)?;
            }
            for (append, lines) in taken.by_ref().take(known.wanted) {
                page.put(append.position, lines)?;
            }
            if page.lines.len() < span.limit && page.seq <= known.last {
                return Err(page.gap());
            }
            pages.push(page.lines);
        }
        Ok(pages)
    }

    /// Returns the state of each stream, and the recent appends that all spans need.
    fn recent<'s>(&self, index: &Index, spans: &'s [Span]) -> Result<Recent<'s>, Error> {
        let mut fetched = HashMap::new();
        loop {
            let missing = match self.recent_of(spans, &fetched) {
                Ok(recent) => return Ok(recent),
                Err(missing) => missing,
            };
            // The index is read without holding the state. It has all of these streams. This read
            // need not see appends that arrive in the meantime, but later appends must, so the
            // result is not cached.
            for session in missing {
                fetched.insert(session, index.stream(session)?);
            }
        }
    }

    /// Returns the same as [`recent`](Shared::recent), or else the streams that are neither cached
    /// nor fetched.
    fn recent_of<'s>(
        &self,
        spans: &'s [Span],
        fetched: &HashMap<Uuid, Option<Stream>>,
    ) -> Result<Recent<'s>, BTreeSet<Uuid>> {
        let mut known = Vec::with_capacity(spans.len());
        let mut appends = Vec::with_capacity(spans.len());
        let mut missing = BTreeSet::new();
        let state = self.state();
        // Spans of one stream are often next to each other.
        for of_one in spans.chunk_by(|one, other| one.session == other.session) {
            let Some(session) = of_one.first().map(|span| span.session) else {
                continue;
            };
            let stream = match (state.view.cached(&session), fetched.get(&session)) {
                (Some(stream), _) | (None, Some(Some(stream))) => stream,
                (None, Some(None)) => {
                    known.extend(of_one.iter().map(|_| Known::default()));
                    continue;
                }
                (None, None) => {
                    missing.insert(session);
                    continue;
                }
            };
            let recent = &stream.recent;
            for span in of_one {
                let (before, end) = (appends.len(), span.end());
                let start = recent.partition_point(|it| it.first <= span.first());
                let wanted = recent.get(start.saturating_sub(1)..).unwrap_or_default();
                let wanted = wanted.iter().take_while(|it| it.first < end);
                let wanted = wanted.filter(|_| span.first() <= stream.head.seq && span.limit > 0);
                appends.extend(wanted.map(|position| WantedAppend {
                    span,
                    position: *position,
                    frame_bytes: {
                        let frame = state.unindexed(position.frame.number);
                        frame.map(|it| Arc::clone(&it.bytes))
                    },
                }));
                known.push(Known {
                    last: stream.head.seq,
                    recent: recent.first().map_or(u64::MAX, |it| it.first),
                    wanted: appends.len() - before,
                });
            }
        }
        if missing.is_empty() {
            Ok((known, appends))
        } else {
            Err(missing)
        }
    }

    /// Reads the records of appends that are in their spans.
    fn records_of(&self, index: &Index, appends: &[WantedAppend<'_>]) -> Vec<Taken> {
        let mut taken: Vec<Option<Taken>> = vec![None; appends.len()];
        let of_log = appends.iter().enumerate();
        let of_log = of_log.filter(|(_, append)| append.frame_bytes.is_none());
        let of_log = of_log.map(|(at, append)| (at, append.position.frame, append.position.place));
        self.log.appends(of_log, |at, body| {
            if let Some((taken, append)) = taken.get_mut(at).zip(appends.get(at)) {
                *taken = Some(append.lines(body));
            }
        });
        let or_else = |(taken, append): (Option<Taken>, &WantedAppend<'_>)| {
            let Position { frame, place, .. } = append.position;
            taken.unwrap_or_else(|| match &append.frame_bytes {
                Some(frame_bytes) => append.lines(bytes_in_frame(frame, place, frame_bytes)?),
                None => append.lines(&self.of_index(index, frame, place)?),
            })
        };
        taken.into_iter().zip(appends).map(or_else).collect()
    }
}

impl WantedAppend<'_> {
    /// The records that are in the span.
    fn lines(&self, body: &[u8]) -> Taken {
        let (_, first, records) = LoggedAppend::records(body)
            .filter(|(session, first, _)| {
                *session == self.span.session && *first == self.position.first
            })
            .ok_or_else(|| "another append stands in its place".to_owned())?;
        let (from, end) = (self.span.first(), self.span.end());
        let lines = records.zip(first..).take_while(|(_, seq)| *seq < end);
        let lines = lines.filter(|(_, seq)| *seq >= from);
        Ok(Line::together(lines.map(|(line, _)| line)))
    }
}

/// A page of records under construction.
struct Page<'s> {
    span: &'s Span,
    /// The next seq.
    seq: u64,
    lines: Vec<Line>,
}

impl Page<'_> {
    fn of(span: &Span) -> Page<'_> {
        Page {
            span,
            seq: span.first(),
            lines: Vec::new(),
        }
    }

    /// Adds the appends before `recent`, which are in groups of the index.
    fn put_older(&mut self, shared: &Shared, index: &Index, recent: u64) -> Result<(), Error> {
        while self.seq < recent && self.lines.len() < self.span.limit {
            let group = index.group(self.span.session, self.seq)?;
            let group = group.ok_or_else(|| self.gap())?;
            let (before, end) = (self.seq, self.span.end());
            let start = group.partition_point(|position| position.first <= before);
            let wanted = group.get(start.saturating_sub(1)..).unwrap_or_default();
            let wanted = wanted.iter().take_while(|position| position.first < end);
            let appends: Vec<WantedAppend<'_>> = wanted
                .map(|position| WantedAppend {
                    span: self.span,
                    position: *position,
                    frame_bytes: None,
                })
                .collect();
            let taken = shared.records_of(index, &appends);
            for (append, lines) in appends.iter().zip(taken) {
                self.put(append.position, lines)?;
            }
            if self.seq == before {
                return Err(self.gap());
            }
        }
        Ok(())
    }

    /// Adds the records of an append, unless an earlier one is missing.
    fn put(&mut self, position: Position, taken: Taken) -> Result<(), Error> {
        if self.lines.len() < self.span.limit && position.first <= self.seq {
            let lines = taken.map_err(|what| self.damaged(what))?;
            // Records that an earlier append already had; in a sound journal there are none.
            let known = self.seq - position.first.max(self.span.first());
            if self.lines.is_empty() {
                self.lines = lines;
            } else {
                self.lines.extend(lines.into_iter().skip(known as usize));
            }
            self.seq = self.span.first() + self.lines.len() as u64;
        }
        Ok(())
    }

    fn damaged(&self, what: String) -> Error {
        Error::Index {
            session: Some(self.span.session),
            seq: Some(self.seq),
            what,
        }
    }

    fn gap(&self) -> Error {
        self.damaged("the record is missing".to_owned())
    }
}
