use super::*;

#[derive(Default)]
struct Seen {
    requests: Vec<(Request, Vec<BioPart>)>,
    bios: Vec<Bio>,
    depths: Vec<(u64, u32)>,
}

impl TrackerOutput for Seen {
    fn request(&mut self, request: &Request, parts: &[BioPart]) {
        self.requests.push((*request, parts.to_vec()));
    }

    fn bio(&mut self, bio: &Bio) {
        self.bios.push(*bio);
    }

    fn depth(&mut self, time_ns: u64, _: DeviceNumber, depth: u32) {
        self.depths.push((time_ns, depth));
    }
}

const QUEUE: BlockEventKind = BlockEventKind::BioQueue;
const DONE: BlockEventKind = BlockEventKind::Complete { error: 0 };

/// One line of a stream: time, thread, kind, direction, sector, sectors.
type Line = (u64, u32, BlockEventKind, &'static str, u64, u32);

fn run(lines: &[Line]) -> (Seen, Tracker) {
    let mut tracker = Tracker::new();
    let mut seen = Seen::default();
    for &(time_ns, thread, kind, rwbs, sector, sectors) in lines {
        let event = BlockEvent {
            time_ns,
            cpu: 0,
            thread,
            device: DeviceNumber::new(7, 0),
            sector,
            sectors,
            flags: IoFlags::parse(rwbs),
            kind,
        };
        tracker.event(&event, &mut seen);
    }
    (seen, tracker)
}

#[test]
fn a_request_has_the_times_of_its_events() {
    let (seen, tracker) = run(&[
        (10, 5, QUEUE, "R", 100, 8),
        (12, 5, BlockEventKind::Insert, "R", 100, 8),
        (15, 9, BlockEventKind::Issue, "R", 100, 8),
        (40, 0, DONE, "R", 100, 8),
    ]);
    let (request, parts) = &seen.requests[0];
    assert_eq!(request.thread, Some(5));
    assert_eq!(request.issued_by, Some(9));
    assert_eq!(
        (request.t_queue, request.t_insert, request.t_issue),
        (Some(10), Some(12), Some(15))
    );
    assert_eq!(request.t_complete, 40);
    assert!(request.complete_history);
    assert_eq!(parts.len(), 1);
    assert_eq!(seen.bios[0].t_complete, 40);
    assert_eq!(seen.depths, [(15, 1), (40, 0)]);
    assert_eq!(tracker.open(), 0);
    assert_eq!(tracker.counts().completed, 1);
}

#[test]
fn a_split_bio_is_several_requests_and_completes_with_the_last() {
    // 24 sectors with a limit of 8: the kernel splits the rest again.
    let (seen, tracker) = run(&[
        (1, 5, QUEUE, "W", 0, 24),
        (2, 5, BlockEventKind::Split { new_sector: 8 }, "W", 0, 0),
        (3, 5, BlockEventKind::Split { new_sector: 16 }, "W", 8, 0),
        (4, 5, BlockEventKind::Issue, "W", 0, 8),
        (5, 5, BlockEventKind::Issue, "W", 8, 8),
        (6, 5, BlockEventKind::Issue, "W", 16, 8),
        (7, 0, DONE, "W", 8, 8),
        (8, 0, DONE, "W", 0, 8),
        (9, 0, DONE, "W", 16, 8),
    ]);
    assert_eq!(seen.requests.len(), 3);
    assert!(seen.requests.iter().all(|(r, _)| r.split == 1));
    assert!(
        seen.requests
            .iter()
            .all(|(_, p)| p[0].bio_sectors == 24 && p[0].bio_sector == 0)
    );
    assert_eq!(seen.bios.len(), 1);
    assert_eq!((seen.bios[0].parts, seen.bios[0].t_complete), (3, 9));
    assert_eq!(tracker.open(), 0);
}

#[test]
fn merged_bios_of_two_threads_keep_their_own_times() {
    let (seen, tracker) = run(&[
        (1, 5, QUEUE, "W", 8, 8),
        (2, 5, BlockEventKind::Insert, "W", 8, 8),
        (3, 6, QUEUE, "W", 16, 8),
        (4, 6, BlockEventKind::BackMerge, "W", 16, 8),
        (5, 7, QUEUE, "W", 0, 8),
        (6, 7, BlockEventKind::FrontMerge, "W", 0, 8),
        (9, 1, BlockEventKind::Issue, "W", 0, 24),
        (20, 0, DONE, "W", 0, 24),
    ]);
    let (request, parts) = &seen.requests[0];
    assert_eq!((request.parts, request.merged, request.split), (3, 2, 0));
    assert_eq!(
        (request.thread, request.t_queue, request.t_insert),
        (Some(5), Some(1), Some(2))
    );
    let threads: Vec<_> = parts.iter().map(|p| (p.thread, p.t_queue)).collect();
    assert_eq!(threads, [(7, 5), (5, 1), (6, 3)]);
    let merges: Vec<_> = parts.iter().map(|p| p.t_merge).collect();
    assert_eq!(merges, [Some(6), None, Some(4)]);
    assert_eq!(seen.bios.len(), 3);
    assert_eq!(tracker.open(), 0);
}

#[test]
fn equal_reads_at_the_same_time_are_two_requests_in_order() {
    let (seen, _) = run(&[
        (1, 5, QUEUE, "R", 0, 8),
        (2, 6, QUEUE, "R", 0, 8),
        (3, 5, BlockEventKind::Issue, "R", 0, 8),
        (4, 6, BlockEventKind::Issue, "R", 0, 8),
        (10, 0, DONE, "R", 0, 8),
        (11, 0, DONE, "R", 0, 8),
    ]);
    let times: Vec<_> = seen
        .requests
        .iter()
        .map(|(r, _)| (r.thread, r.t_queue, r.t_complete))
        .collect();
    assert_eq!(times, [(Some(5), Some(1), 10), (Some(6), Some(2), 11)]);
}

#[test]
fn a_flush_is_a_command_of_the_driver_and_a_wait_of_its_submitter() {
    // As Linux 6.18 reports it: the bio has no data; the driver gets a flush; then the empty request completes.
    let (seen, tracker) = run(&[
        (1, 5, QUEUE, "FWS", 0, 0),
        (3, 5, BlockEventKind::Issue, "FF", 0, 0),
        (50, 0, DONE, "FF", u64::MAX, 0),
        (51, 0, DONE, "WS", 0, 0),
    ]);
    let (command, parts) = &seen.requests[0];
    assert!(command.flags.is_flush() && parts.is_empty());
    assert_eq!((command.t_issue, command.t_complete), (Some(3), 50));
    let (empty, parts) = &seen.requests[1];
    assert_eq!((empty.t_issue, parts.len()), (None, 1));
    assert_eq!((empty.t_queue, empty.thread), (Some(1), Some(5)));
    assert_eq!(seen.bios[0].t_complete, 51);
    assert_eq!(tracker.open(), 0);
}

#[test]
fn requeues_partial_completions_and_errors_are_followed() {
    let (seen, tracker) = run(&[
        (1, 5, QUEUE, "R", 0, 16),
        (2, 5, BlockEventKind::Issue, "R", 0, 16),
        (3, 5, BlockEventKind::Requeue, "R", 0, 16),
        (8, 5, BlockEventKind::Issue, "R", 0, 16),
        (9, 0, DONE, "R", 0, 8),
        (10, 0, BlockEventKind::Complete { error: -5 }, "R", 8, 8),
    ]);
    let (request, _) = &seen.requests[0];
    assert_eq!(seen.requests.len(), 1);
    assert_eq!((request.requeues, request.t_issue), (1, Some(8)));
    assert_eq!((request.sector, request.sectors), (0, 16));
    assert_eq!((request.t_complete, request.error), (10, -5));
    assert_eq!(seen.bios[0].error, -5);
    assert_eq!(seen.depths, [(2, 1), (3, 0), (8, 1), (10, 0)]);
    assert_eq!(tracker.open(), 0);
}

#[test]
fn an_error_of_a_first_part_is_that_of_the_request() {
    let (seen, tracker) = run(&[
        (1, 5, QUEUE, "W", 0, 16),
        (2, 5, BlockEventKind::Issue, "W", 0, 16),
        (9, 0, BlockEventKind::Complete { error: -5 }, "W", 0, 8),
        (10, 0, DONE, "W", 8, 8),
    ]);
    let (request, _) = &seen.requests[0];
    assert_eq!((request.t_complete, request.error), (10, -5));
    assert_eq!((seen.bios.len(), seen.bios[0].error), (1, -5));
    assert_eq!(tracker.open(), 0);
}

#[test]
fn what_started_before_the_trace_or_in_a_gap_has_no_guessed_times() {
    // Completed, but never seen before.
    let (seen, tracker) = run(&[(9, 0, DONE, "R", 0, 8)]);
    assert!(seen.requests.is_empty());
    assert_eq!(tracker.counts().unmatched, 1);
    // Issued, but its bio was not seen.
    let (seen, _) = run(&[
        (5, 1, BlockEventKind::Issue, "R", 0, 8),
        (9, 0, DONE, "R", 0, 8),
    ]);
    let (request, _) = &seen.requests[0];
    assert_eq!((request.t_queue, request.thread), (None, None));
    assert!(!request.complete_history);
    // Half of the bios of a request were lost.
    let (seen, mut tracker) = run(&[
        (1, 1, QUEUE, "R", 0, 8),
        (5, 1, BlockEventKind::Issue, "R", 0, 16),
        (9, 0, DONE, "R", 0, 16),
        (10, 1, QUEUE, "R", 64, 8),
    ]);
    assert!(!seen.requests[0].0.complete_history);
    tracker.lost_events();
    assert_eq!((tracker.open(), tracker.counts().abandoned), (0, 1));
}

#[test]
fn bios_of_devices_without_requests_complete_by_themselves() {
    let (seen, tracker) = run(&[
        (1, 5, QUEUE, "W", 0, 8),
        (4, 5, BlockEventKind::BioComplete { error: 0 }, "W", 0, 8),
    ]);
    assert!(seen.requests.is_empty());
    assert_eq!((seen.bios[0].t_queue, seen.bios[0].t_complete), (1, 4));
    assert_eq!(tracker.open(), 0);
}

#[test]
fn memory_is_bounded_when_nothing_completes() {
    let mut tracker = Tracker::new();
    let mut seen = Seen::default();
    for index in 0..OPEN_LIMIT as u64 + 10 {
        let event = BlockEvent {
            time_ns: index,
            cpu: 0,
            thread: 1,
            device: DeviceNumber::new(7, 0),
            sector: index * 8,
            sectors: 8,
            flags: IoFlags::parse("R"),
            kind: QUEUE,
        };
        tracker.event(&event, &mut seen);
    }
    assert_eq!(tracker.open(), 10);
    assert_eq!(tracker.counts().abandoned, OPEN_LIMIT as u64);
}
