//! The trace of block I/O beside the counters, where this user may take one.

use fathom_linux::WhyReader;
use fathom_trace::{
    DeviceNumber, Processes, RequestCollector, TraceError, TraceOptions, TraceSession,
    TracedRequests, Tracefs, Tracepoint, WhyCost, remove_dead_instances,
};

use crate::observe::FULL;

/// Memory of the kernel for events that are not read yet.
const BUFFER_BYTES: u64 = 16 << 20;
/// Events after which the trace ends: they tell enough, and cost would grow with the load.
const MAX_TRACED_EVENTS: u64 = 1_000_000;

/// A trace, its end, or why there is none.
pub struct Events {
    running: Option<(Tracefs, TraceSession)>,
    collector: Option<RequestCollector>,
    counts: WhyCost,
    not_looked_at: Vec<String>,
}

impl Events {
    /// Starts the trace of these devices, or of all.
    pub fn start(reader: &WhyReader, devices: &[DeviceNumber]) -> Self {
        let mut events = Self {
            running: None,
            collector: None,
            counts: WhyCost::default(),
            not_looked_at: Vec::new(),
        };
        match session(devices) {
            Ok(running) => {
                events.running = Some(running);
                events.collector = Some(RequestCollector::new(Processes::default()));
            }
            Err(error) => events
                .not_looked_at
                .push(format!("the latency of each program and phase: {error}")),
        }
        let known = reader.block_devices().all();
        let names: Vec<&str> = known
            .iter()
            .filter(|(number, limits)| {
                limits.bio_based && (devices.is_empty() || devices.contains(number))
            })
            .map(|(_, limits)| limits.name.as_str())
            .collect();
        if events.running.is_some() && !names.is_empty() {
            events.not_looked_at.push(format!(
                "single I/Os of {}, which have no requests; those of the devices below were traced",
                names.join(", ")
            ));
        }
        events
    }

    /// Reads what has happened; whether the next reading should follow at once.
    pub fn poll(&mut self) -> bool {
        let (Some((_, session)), Some(collector)) = (&mut self.running, &mut self.collector) else {
            return false;
        };
        let share = session.poll(collector);
        let is_enough = session.totals().events >= MAX_TRACED_EVENTS;
        match share {
            Ok(share) if !is_enough => share >= FULL,
            Ok(_) => {
                self.not_looked_at.push(format!(
                    "events of the block layer after the first {MAX_TRACED_EVENTS}"
                ));
                self.end();
                false
            }
            Err(error) => {
                self.not_looked_at.push(error.to_string());
                self.end();
                false
            }
        }
    }

    fn end(&mut self) {
        let (Some((_tracefs, session)), Some(collector)) =
            (self.running.take(), &mut self.collector)
        else {
            return;
        };
        match session.finish(collector) {
            Ok((totals, _)) => {
                self.counts.events = totals.events;
                self.counts.lost_events = totals.lost;
            }
            Err(error) => self.not_looked_at.push(error.to_string()),
        }
    }

    /// The requests, what was not looked at, and the number of events.
    pub fn finish(mut self) -> (Option<TracedRequests>, Vec<String>, WhyCost) {
        self.end();
        let requests = self.collector.map(RequestCollector::finish);
        if let Some(requests) = requests.as_ref().filter(|requests| requests.left_out > 0) {
            self.not_looked_at.push(format!(
                "{} traced requests beyond the first",
                requests.left_out
            ));
        }
        (requests, self.not_looked_at, self.counts)
    }
}

fn session(devices: &[DeviceNumber]) -> Result<(Tracefs, TraceSession), TraceError> {
    let tracefs = Tracefs::open()?;
    remove_dead_instances(tracefs.root())?;
    let options = TraceOptions {
        devices: devices.to_vec(),
        tracepoints: vec![
            Tracepoint::BioQueue,
            Tracepoint::Split,
            Tracepoint::BackMerge,
            Tracepoint::FrontMerge,
            Tracepoint::RequestMerge,
            Tracepoint::Insert,
            Tracepoint::Issue,
            Tracepoint::Complete,
            Tracepoint::Requeue,
        ],
        buffer_bytes: BUFFER_BYTES,
        ..TraceOptions::default()
    };
    let session = TraceSession::start(tracefs.root(), &options)?;
    Ok((tracefs, session))
}
