//! Reads records, of as many streams at once as are wanted: the state is locked once for all of them, and what stands near each other in
//! the log is read together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::queue::Shared;
use super::reading::of_block;
use crate::index::Index;
use crate::log::{Block, Entry};
use crate::view::{Position, Stream};
use crate::{Error, Line, Span};

/// What the view tells of a stream.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Its last seq.
    last: u64,
    /// How many of its recent appends may hold what is wanted, the one before them too.
    appends: usize,
}

/// An append that is wanted.
struct Append<'s> {
    span: &'s Span,
    position: Position,
    /// Its frame, unless the index has that.
    block: Option<Arc<Block>>,
}

/// The records of an append that are in a span, or what is wrong with it.
type Taken = Result<Vec<Line>, String>;

impl Shared {
    /// The records of spans, for each as many as there are.
    pub(super) fn read(&self, index: &Index, spans: &[Span]) -> Result<Vec<Vec<Line>>, Error> {
        let (known, appends) = self.recent(index, spans)?;
        let taken = self.take(index, &appends);
        let mut taken = appends.iter().zip(taken);
        let mut pages = Vec::with_capacity(spans.len());
        for (span, known) in spans.iter().zip(known) {
            let mut page = Page::of(span);
            for (nth, (append, lines)) in taken.by_ref().take(known.appends).enumerate() {
                if nth == 0 {
                    page.put_older(self, index, append.position.first)?;
                }
                page.put(append.position, lines)?;
            }
            if known.appends > 0 && page.lines.len() < span.limit && page.seq <= known.last {
                return Err(page.gap());
            }
            pages.push(page.lines);
        }
        Ok(pages)
    }

    /// What is known of each stream, and of all together the recent appends that are wanted.
    fn recent<'s>(
        &self,
        index: &Index,
        spans: &'s [Span],
    ) -> Result<(Vec<Known>, Vec<Append<'s>>), Error> {
        let fetched = self.fetch(index, spans)?;
        let state = self.state();
        let mut known = Vec::with_capacity(spans.len());
        let mut appends = Vec::with_capacity(spans.len());
        for span in spans {
            // One that was let go of since is fetched here.
            let late;
            let stream = match state.view.at_hand(&span.session) {
                Some(stream) => Some(stream),
                None => match fetched.get(&span.session) {
                    Some(stream) => stream.as_ref(),
                    None => {
                        late = index.stream(span.session)?;
                        late.as_ref()
                    }
                },
            };
            let Some(stream) = stream else {
                known.push(Known::default());
                continue;
            };
            let (from, end, before) = (span.first(), span.end(), appends.len());
            let last = stream.head.seq;
            let start = stream.recent.partition_point(|it| it.first <= from);
            let wanted = stream.recent.get(start.saturating_sub(1)..);
            let wanted = wanted.filter(|_| from <= last && from < end);
            // The first one stays even if it is behind the page: up to it the groups of the index reach.
            let wanted = wanted.unwrap_or_default().iter().enumerate();
            let wanted = wanted.take_while(|(at, position)| *at == 0 || position.first < end);
            appends.extend(wanted.map(|(_, position)| Append {
                span,
                position: *position,
                block: state.unindexed(position.frame.number),
            }));
            known.push(Known {
                last,
                appends: appends.len() - before,
            });
        }
        Ok((known, appends))
    }

    /// The streams that are not at hand, as far as there are such. The index is asked while nobody waits for the state: it has all of
    /// these, and what comes to them meanwhile, this reading need not know.
    fn fetch(&self, index: &Index, spans: &[Span]) -> Result<HashMap<Uuid, Option<Stream>>, Error> {
        let missing: HashSet<Uuid> = {
            let state = self.state();
            let sessions = spans.iter().map(|span| span.session);
            sessions
                .filter(|session| state.view.at_hand(session).is_none())
                .collect()
        };
        let fetched = missing.into_iter();
        let fetched = fetched.map(|session| Ok((session, index.stream(session)?)));
        fetched.collect()
    }

    /// What of appends is in the spans that they are wanted for.
    fn take(&self, index: &Index, appends: &[Append<'_>]) -> Vec<Taken> {
        let mut taken: Vec<Option<Taken>> = vec![None; appends.len()];
        let of_log = appends.iter().enumerate();
        let of_log = of_log.filter(|(_, append)| append.block.is_none());
        let of_log = of_log.map(|(at, append)| (at, append.position.frame, append.position.place));
        self.log.appends(of_log, |at, body| {
            if let Some((taken, append)) = taken.get_mut(at).zip(appends.get(at)) {
                *taken = Some(append.lines(body));
            }
        });
        let or_else = |(taken, append): (Option<Taken>, &Append<'_>)| {
            let Position { frame, place, .. } = append.position;
            taken.unwrap_or_else(|| match &append.block {
                Some(block) => append.lines(of_block(frame, place, block)?),
                None => append.lines(&self.of_index(index, frame, place)?),
            })
        };
        taken.into_iter().zip(appends).map(or_else).collect()
    }
}

impl Append<'_> {
    /// Those of its records that are in the span.
    fn lines(&self, body: &[u8]) -> Taken {
        let (_, first, records) = Entry::records(body)
            .filter(|(session, first, _)| {
                *session == self.span.session && *first == self.position.first
            })
            .ok_or_else(|| "another append stands in its place".to_owned())?;
        let (from, end) = (self.span.first(), self.span.end());
        let lines = records.zip(first..).take_while(|(_, seq)| *seq < end);
        let lines = lines.filter(|(_, seq)| *seq >= from);
        Ok(lines.map(|(line, _)| Line::new(line)).collect())
    }
}

/// A page of records as it fills.
struct Page<'s> {
    span: &'s Span,
    /// The seq that comes next.
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

    /// Puts in what is wanted of the appends before a seq, which stand in groups of the index.
    fn put_older(&mut self, shared: &Shared, index: &Index, recent: u64) -> Result<(), Error> {
        while self.seq < recent && self.lines.len() < self.span.limit {
            let group = index.group(self.span.session, self.seq)?;
            let group = group.ok_or_else(|| self.gap())?;
            let (before, end) = (self.seq, self.span.end());
            let start = group.partition_point(|position| position.first <= before);
            let wanted = group.get(start.saturating_sub(1)..).unwrap_or_default();
            let wanted = wanted.iter().take_while(|position| position.first < end);
            let appends: Vec<Append<'_>> = wanted
                .map(|position| Append {
                    span: self.span,
                    position: *position,
                    block: None,
                })
                .collect();
            let taken = shared.take(index, &appends);
            for (append, lines) in appends.iter().zip(taken) {
                self.put(append.position, lines)?;
            }
            if self.seq == before {
                return Err(self.gap());
            }
        }
        Ok(())
    }

    /// Puts in what is wanted of an append, unless one before it is missing.
    fn put(&mut self, position: Position, taken: Taken) -> Result<(), Error> {
        if self.lines.len() < self.span.limit && position.first <= self.seq {
            let lines = taken.map_err(|what| self.damaged(what))?;
            let known = self.seq - position.first.max(self.span.first());
            if self.lines.is_empty() && known == 0 {
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
