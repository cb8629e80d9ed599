//! CACHE_SETTING_DISAGREES: the kernel was told that a cache is safe which is not, and sends no flushes.

use fathom_model::{Direction, Finding, QueueConditions, Weight};

use super::scene::of_run;
use super::{Detector, Scene};
use crate::figures::counted;

const CODE: &str = "CACHE_SETTING_DISAGREES";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

const ADVICE: &str = "Write \"write back\" to queue/write_cache, or turn the device's own cache off (hdparm -W0, nvme \
                      set-feature 6); until then fsync protects nothing.";

fn look(scene: &Scene) -> Vec<Finding> {
    let writes: u64 = scene.members().filter(|m| !m.is_null()).map(|m| m.seen.directions[Direction::Write].counts.ok).sum();
    let queues = scene.recording.conditions.queues.iter().filter(|_| writes > 0);
    queues.filter_map(|queue| finding(queue, writes)).take(1).collect()
}

/// A loop device over a file is volatile by nature: the kernel itself sets "write back" when it is made, because only an
/// fsync of the file makes writes durable (drivers/block/loop.c).
fn finding(queue: &QueueConditions, writes: u64) -> Option<Finding> {
    let (file, _) = queue.loop_file.as_ref()?;
    let told = queue.setting("write_cache")?;
    (told == "write through").then(|| {
        let evidence = format!(
            "The kernel was told that {} has no volatile cache ({told}), but what it stands on, {}, has one: {} went \
             there and no flush was sent.",
            queue.name,
            file.display(),
            counted(writes, "write"),
        );
        of_run(CODE, Weight::Degrades, evidence, ADVICE)
    })
}
