//! LOOP_BUFFERED: a loop device reads and writes its file through the page cache.

use fathom_model::{Direction, Finding, QueueConditions, Weight};

use super::scene::of_run;
use super::{Detector, Scene};
use crate::figures::bytes;

const CODE: &str = "LOOP_BUFFERED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

const ADVICE: &str = "Attach it with losetup --direct-io=on; until then direct=1 ends at the loop device, and what is below \
                      it is the page cache.";

fn look(scene: &Scene) -> Vec<Finding> {
    let moved: u64 = scene.moved().iter().map(|(_, moved)| moved.bytes).sum();
    let asked = Direction::ALL.into_iter().all(|d| scene.all_direct(d)) && moved > 0;
    let buffered = |queue: &&QueueConditions| queue.loop_file.as_ref().is_some_and(|(_, direct)| !direct);
    let queue = scene.recording.conditions.queues.iter().find(buffered).filter(|_| asked);
    let finding = |queue: &QueueConditions| {
        let file = queue.loop_file.as_ref().map(|(file, _)| file.display().to_string()).unwrap_or_default();
        let evidence = format!("{} passed through {}, which reaches {file} through the page cache.", bytes(moved), queue.name);
        of_run(CODE, Weight::Degrades, evidence, ADVICE)
    };
    queue.map(finding).into_iter().collect()
}
