//! Dies and channels: what each of them is doing, and when it can do more.

use std::collections::VecDeque;

use crate::device::SimTime;

/// How often reads may delay one program or erase operation. Data sheets of NAND limit the number
/// of suspensions so that programs make progress.
const SUSPENSIONS: u32 = 16;

/// An operation that changes flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// When its data is in the register of the die.
    pub ready: SimTime,
    pub duration: u64,
    /// Time that a read waits to suspend it; `None`: reads wait until it ends.
    pub suspend_ns: Option<u64>,
    /// The host pages that it programs, and the number of their group; 0 pages for copies and
    /// erases.
    pub host_pages: u32,
    pub group: u64,
}

#[derive(Debug, Default)]
struct Die {
    /// When the reads accepted so far are done.
    reads_end: SimTime,
    running: Option<Running>,
    waiting: VecDeque<Change>,
}

#[derive(Debug)]
struct Running {
    change: Change,
    start: SimTime,
    end: SimTime,
    delays: u32,
}

#[derive(Debug)]
pub(super) struct Dies {
    dies: Vec<Die>,
    channel_free: Vec<SimTime>,
    ns_per_byte: f64,
}

impl Dies {
    pub fn new(channels: u32, dies: u32, bytes_per_s: u64) -> Self {
        Dies {
            dies: (0..dies).map(|_| Die::default()).collect(),
            channel_free: vec![0; channels as usize],
            ns_per_byte: 1e9 / bytes_per_s as f64,
        }
    }

    pub fn count(&self) -> u64 {
        self.dies.len() as u64
    }

    /// Reads a page for `duration`; reads precede programs that have not started. Returns when the
    /// data is in the register of the die.
    pub fn read(&mut self, die: u64, at: SimTime, duration: u64) -> SimTime {
        let die = &mut self.dies[die as usize];
        let queued = die.reads_end > at;
        let mut start = at.max(die.reads_end);
        if let Some(running) = &mut die.running
            && running.end > start
        {
            let may_delay = running.delays < SUSPENSIONS;
            if running.start >= start && may_delay {
                let shift = (start + duration).saturating_sub(running.start);
                running.delays += u32::from(shift > 0);
                running.start += shift;
                running.end += shift;
            } else if let (Some(suspend), true) = (running.change.suspend_ns, may_delay) {
                // A read behind another finds the operation suspended already.
                let suspend = if queued { 0 } else { suspend };
                running.delays += 1;
                running.end += suspend + duration;
                start += suspend;
            } else {
                start = running.end;
            }
        }
        die.reads_end = start + duration;
        die.reads_end
    }

    /// Transfers bytes over the channel of a die. Returns when they have arrived.
    pub fn transfer(&mut self, die: u64, at: SimTime, bytes: u64) -> SimTime {
        let channel = (die % self.channel_free.len() as u64) as usize;
        let end = at.max(self.channel_free[channel]) + self.transfer_ns(bytes);
        self.channel_free[channel] = end;
        end
    }

    /// Time of a transfer on an idle channel.
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.ns_per_byte) as u64
    }

    /// Gives the die a change to do after those that it has. Returns when to call
    /// [`Dies::finish`] if it starts now.
    pub fn add(&mut self, die: u64, now: SimTime, change: Change) -> Option<SimTime> {
        let die = &mut self.dies[die as usize];
        if die.running.is_some() {
            die.waiting.push_back(change);
            return None;
        }
        Some(die.start(now, change))
    }

    /// The change that the die is doing may have ended: returns it and the time of the next call.
    /// It has not ended if reads suspended it.
    pub fn finish(&mut self, die: u64, now: SimTime) -> (Option<Change>, Option<SimTime>) {
        let die = &mut self.dies[die as usize];
        let running = die.running.as_ref().expect("a change is running");
        if running.end > now {
            return (None, Some(running.end));
        }
        let finished = running.change;
        die.running = None;
        let next = die.waiting.pop_front().map(|change| die.start(now, change));
        (Some(finished), next)
    }
}

impl Die {
    fn start(&mut self, now: SimTime, change: Change) -> SimTime {
        let start = now.max(change.ready).max(self.reads_end);
        let end = start + change.duration;
        self.running = Some(Running {
            change,
            start,
            end,
            delays: 0,
        });
        end
    }
}
