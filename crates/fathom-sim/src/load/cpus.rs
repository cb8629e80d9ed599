//! The CPUs of the simulated machine: who computes when, and how long it takes.

use super::windows::Windows;
use crate::device::SimTime;
use crate::machine::{Event, EventKind, SimMachineSpec};

/// The CPUs. A thread that computes takes the one that is free first, and keeps it until it is done.
pub(super) struct Cpus {
    /// CPU time of an I/O.
    pub cost: SimTime,
    cpus: Vec<Cpu>,
    /// From each time on, until the next one.
    supply: Vec<(SimTime, Supply)>,
    /// Time that threads waited for a CPU.
    pub waited: SimTime,
}

#[derive(Clone, Copy, Default)]
struct Cpu {
    free_at: SimTime,
    /// Time that the generator had it.
    busy: f64,
}

/// What a CPU gives to the generator.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Supply {
    /// The share of its time.
    time: f64,
    /// The share of its frequency.
    frequency: f64,
}

/// A computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Computed {
    /// When it is done.
    pub end: SimTime,
    /// How long the thread waited for a CPU.
    pub waited: SimTime,
    /// How long it had the CPU.
    pub busy: SimTime,
}

impl Cpus {
    pub fn new(spec: &SimMachineSpec, stops: &Windows) -> Self {
        let mut times: Vec<SimTime> = spec
            .events
            .iter()
            .filter(|event| shares(event).is_some())
            .flat_map(|event| [event.at.get(), event.end().get()])
            .chain(stops.spans().iter().flat_map(|(from, to)| [*from, *to]))
            .chain([0])
            .collect();
        times.sort_unstable();
        times.dedup();
        let supply = times.into_iter().map(|at| {
            let holds = |event: &&Event| (event.at.get()..event.end().get()).contains(&at);
            let all = spec.events.iter().filter(holds).filter_map(shares);
            let (mut time, frequency) = all.fold((1.0, 1.0), |(a, b), (c, d)| (a * c, b * d));
            if stops.end_at(at).is_some() {
                time = 0.0;
            }
            (at, Supply { time, frequency })
        });
        Cpus {
            cost: spec.cpu_per_io.get(),
            cpus: vec![Cpu::default(); spec.cpus as usize],
            supply: supply.collect(),
            waited: 0,
        }
    }

    /// Computes `work` nanoseconds at nominal speed, from `now` on.
    pub fn compute(&mut self, now: SimTime, work: SimTime) -> Computed {
        let Some(cpu) = self.cpus.iter_mut().min_by_key(|cpu| cpu.free_at) else {
            return Computed {
                end: now,
                waited: 0,
                busy: 0,
            };
        };
        let start = cpu.free_at.max(now);
        let (end, busy) = finish(&self.supply, start, work);
        cpu.free_at = end;
        cpu.busy += busy;
        self.waited += start - now;
        Computed {
            end,
            waited: start - now,
            busy: busy.round() as SimTime,
        }
    }

    /// How long the generator has had each CPU.
    pub fn busy(&self) -> Vec<SimTime> {
        let busy = self.cpus.iter().map(|cpu| cpu.busy.round() as SimTime);
        busy.collect()
    }

    pub fn count(&self) -> usize {
        self.cpus.len()
    }
}

/// Shares of time and of frequency that an event leaves.
fn shares(event: &Event) -> Option<(f64, f64)> {
    match event.kind {
        EventKind::CpuStolen { share, .. } => Some((1.0 - share, 1.0)),
        EventKind::CpuSlows { share, .. } => Some((1.0, share)),
        _ => None,
    }
}

/// When `work` that begins at `start` is done, and how much of the time it had the CPU.
fn finish(supply: &[(SimTime, Supply)], start: SimTime, work: SimTime) -> (SimTime, f64) {
    let first = supply.partition_point(|(at, _)| *at <= start).max(1) - 1;
    let (mut at, mut left, mut busy) = (start, work as f64, 0.0);
    for (index, (_, share)) in supply.iter().enumerate().skip(first) {
        let speed = share.time * share.frequency;
        let until = supply.get(index + 1).map_or(SimTime::MAX, |next| next.0);
        let possible = (until - at) as f64 * speed;
        if possible >= left && speed > 0.0 {
            let takes = left / speed;
            return (at + takes.round() as SimTime, busy + takes * share.time);
        }
        left -= possible;
        busy += (until - at) as f64 * share.time;
        at = until;
    }
    (at, busy)
}

#[cfg(test)]
mod tests {
    use fathom_model::Nanos;

    use super::*;

    /// 100 ns at full speed, then half of the time is stolen for 100 ns, then the frequency is a quarter for 400 ns, then the
    /// generator is stopped for 50 ns.
    fn cpus(count: u32) -> Cpus {
        let nanos = Nanos::new;
        let stop = Event::generator_stops(nanos(600), nanos(50));
        let spec = SimMachineSpec {
            cpus: count,
            events: vec![
                Event::cpu_stolen(nanos(100), nanos(100), 0.5),
                Event::cpu_slows(nanos(200), nanos(400), 0.25),
                stop,
            ],
            ..SimMachineSpec::default()
        };
        Cpus::new(&spec, &Windows::new([stop].iter()))
    }

    #[test]
    fn work_takes_as_long_as_the_cpu_gives() {
        // 100 of the work until time 100, 50 more until 200, 100 more until 600, nothing until 650.
        for (work, end, busy) in [
            (100, 100, 100),
            (150, 200, 150),
            (151, 204, 154),
            (250, 600, 550),
            (260, 660, 560),
        ] {
            let computed = cpus(1).compute(0, work);
            assert_eq!((computed.end, computed.busy), (end, busy), "{work}");
        }
    }

    #[test]
    fn threads_wait_for_the_cpu_that_is_free_first() {
        let mut two = cpus(2);
        let ends = [(0, 40), (0, 30), (10, 20), (20, 10)].map(|(now, work)| {
            let computed = two.compute(now, work);
            (computed.end, computed.waited)
        });
        assert_eq!(ends, [(40, 0), (30, 0), (50, 20), (50, 20)]);
        assert_eq!(two.busy(), [50, 50]);
        assert_eq!(two.waited, 40);
    }
}
