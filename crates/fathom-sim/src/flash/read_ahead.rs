//! Sequential streams, and the flash pages that were read ahead for them.

use std::collections::VecDeque;
use std::ops::Range;

use crate::device::SimTime;

#[derive(Debug)]
pub(super) struct ReadAhead {
    bytes: u64,
    page_bytes: u64,
    /// Streams that it follows at once.
    most: usize,
    streams: Vec<Stream>,
    /// The stream that a new one replaces.
    oldest: usize,
}

#[derive(Debug)]
struct Stream {
    /// The offset at which the next request of the stream starts.
    next: u64,
    /// Pages in the device or on their way, in order, with their times.
    pages: VecDeque<(u64, SimTime)>,
}

impl ReadAhead {
    pub fn new(bytes: u64, page_bytes: u64, most: usize) -> Self {
        ReadAhead {
            bytes,
            page_bytes,
            most,
            streams: Vec::with_capacity(most),
            oldest: 0,
        }
    }

    /// The stream that a request at this offset continues.
    pub fn find(&self, offset: u64) -> Option<usize> {
        self.streams.iter().position(|stream| stream.next == offset)
    }

    /// When a page that was read ahead is in the device; `last` if the request reads to the end of
    /// the page, which is then dropped.
    pub fn take(&mut self, stream: usize, page: u64, last: bool) -> Option<SimTime> {
        let pages = &mut self.streams[stream].pages;
        while pages.front().is_some_and(|(number, _)| *number < page) {
            pages.pop_front();
        }
        let &(number, ready) = pages.front()?;
        if number != page {
            return None;
        }
        if last {
            pages.pop_front();
        }
        Some(ready)
    }

    /// Notes a request from `start` to `end`. Returns the pages to read ahead for its stream: none
    /// for the first request of a stream.
    pub fn advance(
        &mut self,
        stream: Option<usize>,
        start: u64,
        end: u64,
        limit: u64,
    ) -> Range<u64> {
        let Some(stream) = stream else {
            self.begin(start, end);
            return 0..0;
        };
        let stream = &mut self.streams[stream];
        stream.next = end;
        let from = stream
            .pages
            .back()
            .map_or(end.div_ceil(self.page_bytes), |(page, _)| page + 1);
        let to = (end + self.bytes).min(limit).div_ceil(self.page_bytes);
        from..to.max(from)
    }

    pub fn add(&mut self, stream: usize, page: u64, ready: SimTime) {
        self.streams[stream].pages.push_back((page, ready));
    }

    fn begin(&mut self, start: u64, end: u64) {
        let stream = Stream {
            next: end,
            pages: VecDeque::new(),
        };
        if start == end {
            return;
        }
        if self.streams.len() < self.most {
            self.streams.push(stream);
        } else {
            self.streams[self.oldest] = stream;
            self.oldest = (self.oldest + 1) % self.most;
        }
    }
}
