//! FOREIGN_IO: the device did much more than the jobs requested: in bytes, in I/Os, or in time.

use fathom_model::{DeviceRecording, Direction, DiskSummary, Finding, Weight, Witnessed};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, count, percent, rate, share};
use crate::witnessed::program_name;

/// More than metadata and journals add.
const EXCESS_PERCENT: f64 = 25.0;
/// Background I/O of an idle system, bytes.
const SLACK: u64 = 16 << 20;
/// The same per second, I/Os.
const SLACK_PER_SECOND: f64 = 20.0;
/// Time that an idle system has I/Os of its own in flight, percent.
const BUSY_PERCENT: f64 = 10.0;
/// Fewer foreign I/Os than this show nothing.
const LEAST: u64 = 10;
const SECTOR: u64 = 512;
const ADVICE: &str = "Another program uses the device, or the file system writes more than requested: find it with iostat or iotop, or use an idle device.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if let Some(witnessed) = run.witnessed() {
        // One finding, with a sentence for each device.
        let evidence: Vec<String> = run
            .disks
            .iter()
            .filter_map(|disk| {
                [Direction::Read, Direction::Write]
                    .into_iter()
                    .find_map(|d| beside_command(run, witnessed, disk, d))
            })
            .collect();
        if evidence.is_empty() {
            return Vec::new();
        }
        return vec![of_run(Weight::Degrades, evidence.join(" "), ADVICE)];
    }
    [Direction::Read, Direction::Write]
        .into_iter()
        .filter_map(|d| excess(run, d).or_else(|| slow(run, d)))
        .take(1)
        .collect()
}

/// I/Os that are not from the run, on the device that did most.
struct ForeignIos<'a> {
    disk: &'a DiskSummary,
    foreign: u64,
    /// All I/Os of the device in this direction, and the time that they took together, milliseconds.
    ios: u64,
    ticks: u64,
}

/// The disks that do the I/Os of the jobs as they are, and those of others. An array reads and writes more of its members than it is asked
/// for: parities, mirrors, a rebuild.
fn comparable_disks<'a>(run: &'a RunContext) -> impl Iterator<Item = &'a DiskSummary> {
    let is_below_array = |disk: &DiskSummary| {
        run.recording.targets.iter().any(|target| {
            let parent = |device: &DeviceRecording| target.devices.get(device.parent?);
            let is_disk = |device: &&DeviceRecording| device.before.name == disk.name;
            let own = target.devices.iter().find(is_disk);
            // A stack has no more levels than devices.
            std::iter::successors(own, |device| parent(device))
                .take(target.devices.len())
                .skip(1)
                .any(|above| above.before.is_raid())
        })
    };
    run.disks.iter().filter(move |disk| !is_below_array(disk))
}

/// `None` where what is whose cannot be told.
fn foreign_ios<'a>(run: &'a RunContext, direction: Direction) -> Option<ForeignIos<'a>> {
    let moved = run.moved();
    // A flush makes the file system write its journal, which belongs to the run.
    let has_syncs = run.members().any(|member| member.seen.sync.count() > 0);
    if !run.all_direct(direction) || (has_syncs && direction == Direction::Write) {
        return None;
    }
    let disk = comparable_disks(run).max_by_key(|disk| device_bytes(disk, direction))?;
    let (ios, ticks) = if direction == Direction::Read {
        (disk.delta.read_ios, disk.delta.read_ticks)
    } else {
        (disk.delta.write_ios, disk.delta.write_ticks)
    };
    let bytes = device_bytes(disk, direction).saturating_sub(moved[direction].bytes);
    // Requests that the device received in pieces have the bytes of the jobs.
    let foreign = ios.saturating_sub(moved[direction].ios).min(bytes / SECTOR);
    Some(ForeignIos {
        disk,
        foreign,
        ios,
        ticks,
    })
}

impl RunContext<'_> {
    /// Reads and writes that are not from the run for each I/O that is; 0 where that cannot be told.
    pub(crate) fn foreign_per_own_io(&self) -> f64 {
        let own: u64 = self.moved().iter().map(|(_, moved)| moved.ios).sum();
        let seen = [Direction::Read, Direction::Write].into_iter();
        let seen = seen.filter_map(|direction| foreign_ios(self, direction));
        seen.map(|seen| seen.foreign).sum::<u64>() as f64 / own.max(1) as f64
    }
}

/// Few bytes can take much of a device's time: single blocks of a database or a journal between the I/Os of the jobs.
fn slow(run: &RunContext, direction: Direction) -> Option<Finding> {
    let ForeignIos {
        disk,
        foreign,
        ios,
        ticks,
    } = foreign_ios(run, direction)?;
    let moved = run.moved();
    let seconds = run.recording.elapsed.as_secs_f64();
    if foreign < LEAST || seconds <= 0.0 {
        return None;
    }
    let own: u64 = moved.iter().map(|(_, moved)| moved.ios).sum();
    let many = foreign as f64 > SLACK_PER_SECOND * seconds
        && foreign as f64 > own as f64 * EXCESS_PERCENT / 100.0;
    let in_flight = ticks as f64 / 10.0 / seconds * foreign as f64 / ios as f64;
    if !many && in_flight < BUSY_PERCENT {
        return None;
    }
    let evidence = format!(
        "{} {}s on {} were not from this run ({} per second beside {} of the jobs), and took {} of its time.",
        count(foreign),
        direction.name(),
        disk.name,
        rate(foreign as f64 / seconds),
        rate(own as f64 / seconds),
        percent(in_flight),
    );
    Some(of_run(Weight::Degrades, evidence, ADVICE))
}

/// One device alone must exceed all jobs together: sums over a stack of devices would count the
/// same I/O twice.
fn excess(run: &RunContext, direction: Direction) -> Option<Finding> {
    if !run.all_direct(direction) {
        return None;
    }
    let ours = run.moved()[direction].bytes;
    let disk = comparable_disks(run).max_by_key(|disk| device_bytes(disk, direction))?;
    let device = device_bytes(disk, direction);
    let limit = ours + SLACK.max((ours as f64 * EXCESS_PERCENT / 100.0) as u64);
    if device <= limit {
        return None;
    }
    let evidence = format!(
        "{} of the bytes {} on {} were not from this run: the device transferred {}, the jobs {}.",
        percent(share(device - ours, device)),
        if direction == Direction::Read {
            "read"
        } else {
            "written"
        },
        disk.name,
        bytes(device),
        bytes(ours),
    );
    Some(of_run(Weight::Degrades, evidence, ADVICE))
}

fn device_bytes(disk: &DiskSummary, direction: Direction) -> u64 {
    let sectors = if direction == Direction::Read {
        disk.delta.read_sectors
    } else {
        disk.delta.write_sectors
    };
    sectors * SECTOR
}

/// The same of a watched command, whose own I/O is counted by the kernel: for its processes, and by device for its control
/// group. The larger count is its own, so that an inexact one only hides the finding.
fn beside_command(
    run: &RunContext,
    witnessed: &Witnessed,
    disk: &DiskSummary,
    direction: Direction,
) -> Option<String> {
    let reads = direction == Direction::Read;
    let of_processes = if reads {
        witnessed.io.device_read_bytes
    } else {
        witnessed.io.device_written_bytes
    };
    let seconds = run.recording.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let group = witnessed.disks.iter().find(|one| one.name == disk.name);
    let (group_ios, group_bytes) = group.map_or((None, 0), |one| {
        if reads {
            (Some(one.reads), one.read_bytes)
        } else {
            (Some(one.writes), one.written_bytes)
        }
    });
    let device = device_bytes(disk, direction);
    let own = of_processes.max(group_bytes);
    let (ios, ticks) = if reads {
        (disk.delta.read_ios, disk.delta.read_ticks)
    } else {
        (disk.delta.write_ios, disk.delta.write_ticks)
    };
    let limit = own + SLACK.max((own as f64 * EXCESS_PERCENT / 100.0) as u64);
    if device > limit {
        return Some(format!(
            "{} of the bytes {} on {} were not from {}: the device transferred {}, the command {}.",
            percent(share(device - own, device)),
            if reads { "read" } else { "written" },
            disk.name,
            program_name(witnessed),
            bytes(device),
            bytes(own),
        ));
    }
    // Buffered writes are sent by the kernel, not by the group: only its reads are counted completely.
    let foreign = ios.saturating_sub(group_ios.filter(|_| reads)?);
    let time = foreign as f64 / ios.max(1) as f64 * ticks as f64 / (seconds * 1000.0) * 100.0;
    if foreign < LEAST || foreign as f64 / seconds < SLACK_PER_SECOND || time < BUSY_PERCENT {
        return None;
    }
    Some(format!(
        "{} {}s on {} were not from {} ({} per second), and took {} of the device's time.",
        count(foreign),
        direction.name(),
        disk.name,
        program_name(witnessed),
        rate(foreign as f64 / seconds),
        percent(time),
    ))
}
