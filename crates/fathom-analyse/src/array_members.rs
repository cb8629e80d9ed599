//! The members of an array during a run, and whether one of them is slower than the others.

use fathom_model::DeviceRecording;

use crate::detectors::RunContext;

/// A member of an array is slower than the others if its requests take at least so many times theirs.
pub(crate) const MIN_RATIO_OF_SLOW_MEMBER: f64 = 1.5;
/// I/Os of each member that tell whether one is slower.
const MIN_IOS_OF_MEMBER: u64 = 100;

/// What a member of an array did during the run.
pub(crate) struct ArrayMember<'a> {
    /// The kernel name of the member.
    pub(crate) name: &'a str,
    /// Reads and writes.
    pub(crate) ios: u64,
    /// Mean response time.
    pub(crate) mean_ns: f64,
    /// Share of the time in which it had requests.
    pub(crate) busy_share: f64,
}

/// A member that is slower than the others.
pub(crate) struct SlowMember<'m, 'a> {
    pub(crate) slowest: &'m ArrayMember<'a>,
    pub(crate) others: Vec<&'m ArrayMember<'a>>,
    /// The mean response time of the others, as their median.
    pub(crate) usual_ns: f64,
}

/// The member that is slower than the others, if there is one.
pub(crate) fn find_slow_member<'m, 'a>(
    members: &'m [ArrayMember<'a>],
) -> Option<SlowMember<'m, 'a>> {
    let slowest = members
        .iter()
        .max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns))?;
    let mut others: Vec<&ArrayMember> = members
        .iter()
        .filter(|one| one.name != slowest.name)
        .collect();
    others.sort_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns));
    let usual_ns = others.get(others.len() / 2)?.mean_ns;
    let has_ios = members.iter().all(|one| one.ios >= MIN_IOS_OF_MEMBER);
    let is_slower = slowest.mean_ns >= MIN_RATIO_OF_SLOW_MEMBER * usual_ns;
    (has_ios && others.len() >= 2 && is_slower).then_some(SlowMember {
        slowest,
        others,
        usual_ns,
    })
}

/// What each member of the array of a target did, if it is one whose members the host knows.
pub(crate) fn members_of_array<'a>(
    run: &RunContext<'a>,
    devices: &[&'a DeviceRecording],
) -> Vec<ArrayMember<'a>> {
    let Some(array) = devices.iter().position(|device| device.before.is_raid()) else {
        return Vec::new();
    };
    let elapsed_ms = run.recording.elapsed.get() as f64 / 1e6;
    let members = devices.iter().filter(|device| device.parent == Some(array));
    let members = members.filter_map(|device| {
        let name = device.before.name.as_str();
        let disk = run.disks.iter().find(|disk| disk.name == name)?;
        let ios = disk.delta.read_ios + disk.delta.write_ios;
        let waited_ms = disk.delta.read_ticks + disk.delta.write_ticks;
        Some(ArrayMember {
            name,
            ios,
            mean_ns: waited_ms as f64 * 1e6 / ios.max(1) as f64,
            busy_share: disk.delta.io_ticks as f64 / elapsed_ms.max(1.0),
        })
    });
    members.collect()
}
