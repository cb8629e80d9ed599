//! The null engine: completes everything at once and transfers nothing. It shows the cost of
//! the load generator itself.

use crate::engine::{Completion, Engine, EngineError, Op, Request, Wait};

const ENOMEM: i32 = 12;
const EINVAL: i64 = 22;
const EBADF: i64 = 9;

/// Completes every I/O in full without doing it, in the order of submission.
#[derive(Debug)]
pub struct NullEngine {
    buffers: Vec<u8>,
    buffer_size: usize,
    in_flight: Box<[bool]>,
    ranges: Box<[(u64, u64)]>,
    /// Completions not reaped yet. The length is a power of two, of which at most `depth` entries
    /// are used.
    ring: Box<[Completion]>,
    head: usize,
    tail: usize,
}

impl NullEngine {
    /// An engine of `depth` slots of `buffer_size` bytes. `ranges` are the accessible bytes of each
    /// file, end exclusive. Without files every range is accepted.
    ///
    /// # Errors
    /// If there is not enough memory for the buffers.
    pub fn new(depth: u32, buffer_size: u32, ranges: &[(u64, u64)]) -> Result<Self, EngineError> {
        let depth = depth.max(1) as usize;
        let nothing = Completion { slot: 0, result: 0 };
        Ok(Self {
            buffers: zeroed(depth, buffer_size as usize)?,
            buffer_size: buffer_size as usize,
            in_flight: vec![false; depth].into_boxed_slice(),
            ranges: ranges.into(),
            ring: vec![nothing; depth.next_power_of_two()].into_boxed_slice(),
            head: 0,
            tail: 0,
        })
    }

    #[inline]
    fn outcome(&self, request: &Request) -> i64 {
        if request.op.is_sync() {
            return 0;
        }
        if !self.ranges.is_empty() {
            let Some(&(start, end)) = self.ranges.get(request.file as usize) else {
                return -EBADF;
            };
            let past = request.offset.saturating_add(u64::from(request.len));
            if request.offset < start || past > end {
                return -EINVAL;
            }
        }
        match request.op {
            Op::Trim => 0,
            _ if request.len as usize > self.buffer_size => -EINVAL,
            _ => i64::from(request.len),
        }
    }
}

/// `count` buffers of `size` zeros each.
fn zeroed(count: usize, size: usize) -> Result<Vec<u8>, EngineError> {
    let refused = || EngineError {
        errno: ENOMEM,
        what: format!("not enough memory for {count} buffers of {size} bytes; lower iodepth or bs"),
    };
    let total = count.checked_mul(size).ok_or_else(refused)?;
    Vec::<u8>::new()
        .try_reserve_exact(total)
        .map_err(|_| refused())?;
    Ok(vec![0; total])
}

impl Engine for NullEngine {
    #[inline]
    fn depth(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// As fio reports it: at depth 1 an I/O completes on submission, at a greater depth when it is
    /// reaped.
    #[inline]
    fn is_synchronous(&self) -> bool {
        self.in_flight.len() == 1
    }

    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let slot = slot as usize;
        assert!(!self.in_flight[slot], "slot {slot} is in flight");
        &mut self.buffers[slot * self.buffer_size..][..self.buffer_size]
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let mask = self.ring.len() - 1;
        for request in batch {
            let flag = &mut self.in_flight[request.slot as usize];
            assert!(!*flag, "slot {} is in flight", request.slot);
            *flag = true;
            let result = self.outcome(request);
            self.ring[self.tail & mask] = Completion {
                slot: request.slot,
                result,
            };
            self.tail = self.tail.wrapping_add(1);
        }
        Ok(batch.len())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let mask = self.ring.len() - 1;
        let count = self.tail.wrapping_sub(self.head).min(wait.at_most as usize);
        for _ in 0..count {
            let completion = self.ring[self.head & mask];
            self.in_flight[completion.slot as usize] = false;
            self.head = self.head.wrapping_add(1);
            done.push(completion);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(slot: u32, offset: u64, len: u32) -> Request {
        Request {
            slot,
            file: 0,
            op: Op::Read,
            len,
            offset,
            prio: 0,
        }
    }

    fn reap(engine: &mut NullEngine, at_most: u32) -> Vec<Completion> {
        let mut done = Vec::new();
        engine
            .reap(
                Wait {
                    at_least: 1,
                    at_most,
                    limit: None,
                },
                &mut done,
            )
            .expect("null never fails");
        done
    }

    #[test]
    fn completes_each_request_once_in_order() {
        let mut engine = NullEngine::new(3, 4096, &[(0, 1 << 20)]).expect("small");
        for round in 0..5 {
            let batch = [read(2, 0, 4096), read(0, 4096, 512), read(1, 8192, round)];
            assert_eq!(engine.submit(&batch), Ok(3));
            assert_eq!(
                reap(&mut engine, 2),
                [
                    Completion {
                        slot: 2,
                        result: 4096
                    },
                    Completion {
                        slot: 0,
                        result: 512
                    }
                ]
            );
            assert_eq!(
                reap(&mut engine, 9),
                [Completion {
                    slot: 1,
                    result: i64::from(round)
                }]
            );
            assert!(reap(&mut engine, 9).is_empty());
        }
    }

    #[test]
    fn refuses_io_outside_the_range() {
        let mut engine = NullEngine::new(1, 4096, &[(4096, 12288)]).expect("small");
        for (offset, len, result) in [
            (4096, 4096, 4096),
            (8192, 4096, 4096),
            (0, 4096, -22),
            (8193, 4096, -22),
            (u64::MAX, 1, -22),
            (4096, 4097, -22),
        ] {
            engine
                .submit(&[read(0, offset, len)])
                .expect("null never fails");
            assert_eq!(reap(&mut engine, 1)[0].result, result, "{offset}+{len}");
        }
    }

    #[test]
    #[should_panic(expected = "in flight")]
    fn a_buffer_in_flight_is_not_accessible() {
        let mut engine = NullEngine::new(1, 4096, &[]).expect("small");
        engine
            .submit(&[read(0, 0, 4096)])
            .expect("null never fails");
        engine.buffer(0);
    }

    #[test]
    fn buffers_do_not_overlap() {
        let mut engine = NullEngine::new(4, 512, &[]).expect("small");
        for slot in 0..4 {
            engine.buffer(slot).fill(slot as u8 + 1);
        }
        for slot in 0..4 {
            assert!(
                engine
                    .buffer(slot)
                    .iter()
                    .all(|&byte| byte == slot as u8 + 1)
            );
        }
    }
}
