//! Connections of the simulation. Bytes arrive in order: what leaves while the network is cut is sent again when it is there.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fathom_hosts::Bell;

use super::clock::HostClock;
use crate::durable::world::{Wire, lock};

/// What happens to messages that leave in a span of time: they take so long, or are lost.
#[derive(Clone, Default)]
pub struct Network(pub Vec<(Range<Duration>, Option<Duration>)>);

impl Network {
    /// When something leaves that is sent now, again and again while the network is cut.
    fn departure(&self, now: Duration) -> Duration {
        let mut leaves = now;
        // The end of one cut may be within another one.
        while let Some((span, _)) = self
            .0
            .iter()
            .find(|(span, delay)| delay.is_none() && span.contains(&leaves))
        {
            leaves = span.end;
        }
        leaves
    }

    /// When something arrives that is sent now.
    pub fn arrival(&self, now: Duration) -> Duration {
        let leaves = self.departure(now);
        let delays = self.0.iter().filter(|(span, _)| span.contains(&leaves));
        let delays = delays.filter_map(|(_, delay)| *delay);
        leaves.saturating_add(delays.sum())
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    state: Mutex<PipeState>,
    arrived: Arc<Bell>,
}

#[derive(Default)]
struct PipeState {
    /// Pieces, when each arrives.
    pieces: VecDeque<(Duration, VecDeque<u8>)>,
    last: Duration,
    /// When the end arrives.
    closed: Option<Duration>,
}

/// One end of a connection.
pub struct SimWire {
    end: Arc<End>,
}

struct End {
    clock: Arc<HostClock>,
    network: Network,
    sends: Arc<Pipe>,
    receives: Arc<Pipe>,
    patience: Mutex<Option<Duration>>,
}

/// Both ends of a new connection, each with the clock of its host.
pub fn pair(clocks: [&Arc<HostClock>; 2], network: &Network) -> [SimWire; 2] {
    let pipes = [Arc::<Pipe>::default(), Arc::default()];
    [(0, 1), (1, 0)].map(|(own, other): (usize, usize)| SimWire {
        end: Arc::new(End {
            clock: Arc::clone(clocks[own]),
            network: network.clone(),
            sends: Arc::clone(&pipes[own]),
            receives: Arc::clone(&pipes[other]),
            patience: Mutex::default(),
        }),
    })
}

impl End {
    /// When something arrives that is sent now; `None` if the host has no power any more when it would leave.
    fn arrival(&self) -> Option<Duration> {
        let now = self.clock.time();
        let is_lost = self.clock.is_off_at(self.network.departure(now));
        (!is_lost).then(|| self.network.arrival(now))
    }

    fn finish(&self) {
        let Some(arrival) = self.arrival() else {
            return;
        };
        let mut state = lock(&self.sends.state);
        let arrival = arrival.max(state.last);
        state.closed.get_or_insert(arrival);
        drop(state);
        self.sends.arrived.ring();
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Read for SimWire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let End {
            clock,
            receives,
            patience,
            ..
        } = &*self.end;
        let patience = *lock(patience);
        let limit = patience.map_or(Duration::MAX, |time| clock.time().saturating_add(time));
        loop {
            let heard = receives.arrived.count();
            let now = clock.time();
            let mut state = lock(&receives.state);
            let mut next = state.closed.unwrap_or(Duration::MAX);
            if let Some((at, piece)) = state.pieces.front_mut() {
                if *at <= now {
                    let read = piece.read(buffer)?;
                    if piece.is_empty() {
                        state.pieces.pop_front();
                    }
                    return Ok(read);
                }
                next = *at;
            } else if next <= now {
                return Ok(0);
            }
            drop(state);
            if now >= limit {
                return Err(io::ErrorKind::TimedOut.into());
            }
            clock.wait_until(&receives.arrived, heard, next.min(limit));
        }
    }
}

impl Write for SimWire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = &self.end;
        let Some(arrival) = end.arrival() else {
            return Ok(bytes.len());
        };
        let mut state = lock(&end.sends.state);
        let arrival = arrival.max(state.last);
        state.last = arrival;
        state
            .pieces
            .push_back((arrival, bytes.iter().copied().collect()));
        drop(state);
        end.sends.arrived.ring();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire for SimWire {
    fn copy(&self) -> io::Result<Box<dyn Wire>> {
        let end = Arc::clone(&self.end);
        Ok(Box::new(SimWire { end }))
    }

    fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        *lock(&self.end.patience) = time;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end.finish();
        Ok(())
    }

    fn is_to_other_host(&self) -> bool {
        true
    }
}
