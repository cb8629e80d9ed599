//! Several devices as one: each has its own range, and nothing in common with the others.

use crate::device::{SimCompletion, SimDevice, SimRequest, SimTime};
use crate::registry::Device;

/// Devices one after the other. A flush goes to the device of its offset.
struct Devices(Vec<(u64, Device)>);

/// Joins devices; returns where each begins too.
pub(crate) fn join(devices: Vec<Device>) -> (Device, Vec<u64>) {
    let mut end = 0_u64;
    let mut members = Vec::with_capacity(devices.len());
    for device in devices {
        let next = end.saturating_add(device.capacity());
        members.push((end, device));
        end = next;
    }
    let starts = members.iter().map(|(start, _)| *start).collect();
    if members.len() == 1
        && let Some((_, only)) = members.pop()
    {
        return (only, starts);
    }
    (Box::new(Devices(members)), starts)
}

impl SimDevice for Devices {
    fn capacity(&self) -> u64 {
        self.0
            .last()
            .map_or(0, |(start, device)| start.saturating_add(device.capacity()))
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        let member = self
            .0
            .partition_point(|(start, _)| *start <= request.offset)
            .saturating_sub(1);
        if let Some((start, device)) = self.0.get_mut(member) {
            let offset = request.offset.saturating_sub(*start);
            device.submit(now, SimRequest { offset, ..request });
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        let events = self.0.iter().filter_map(|(_, device)| device.next_event());
        events.min()
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        let before = done.len();
        for (_, device) in &mut self.0 {
            device.advance(now, done);
        }
        // Each device reports in the order of its times; all of them together must too.
        done[before..].sort_by_key(|completion| completion.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimOp;
    use crate::registry::Library;

    /// A request of the second device takes the time of the second device, and its completion comes in the order of times.
    #[test]
    fn each_device_serves_its_own_range() {
        let build = |text: &str| Library::new().build_text(text, 1).expect(text);
        let slow = build("servers(count=1, service=1ms, capacity=1m)");
        let fast = build("servers(count=1, service=10us, capacity=1m)");
        let (mut device, starts) = join(vec![slow, fast]);
        assert_eq!((starts, device.capacity()), (vec![0, 1 << 20], 2 << 20));
        let request = |id, offset| SimRequest {
            id,
            op: SimOp::Read,
            offset,
            bytes: 4096,
            fua: false,
        };
        device.submit(0, request(1, 0));
        device.submit(0, request(2, 1 << 20));
        let mut done = Vec::new();
        device.advance(2_000_000, &mut done);
        let times: Vec<(u64, u64)> = done.iter().map(|one| (one.id, one.at)).collect();
        assert_eq!(times, [(2, 10_000), (1, 1_000_000)]);
        assert_eq!(device.next_event(), None);
    }
}
