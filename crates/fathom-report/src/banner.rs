//! fio's lines before a run: one for each job section, its version, and the number of workers.

use fathom_model::{Direction, Job, Plan};

use crate::Style;
use crate::fio_number::{Prefix, bytes};

/// One line for each section, `...` for its clones, and the version.
#[must_use]
pub fn banner(plan: &Plan, style: &Style) -> String {
    let mut lines = String::new();
    for job in &plan.jobs {
        match job.clone {
            0 => lines += &section(job),
            1 => lines += "...\n",
            _ => {}
        }
    }
    style.clean(&(lines + &style.version + "\n"))
}

fn section(job: &Job) -> String {
    let size = |way: Direction| {
        let sizes = &job.pattern.block_size[way];
        format!(
            "{}-{}",
            bytes(sizes.min().into(), Prefix::Iec),
            bytes(sizes.max().into(), Prefix::Iec)
        )
    };
    let (read, write, trim) = (
        size(Direction::Read),
        size(Direction::Write),
        size(Direction::Trim),
    );
    let sizes = if job.pattern.sizes_by_access {
        format!("(R) {read}, (W) {write}, bs_is_seq_rand")
    } else {
        format!("(R) {read}, (W) {write}, (T) {trim}")
    };
    let (name, group, rw, engine) = (
        &job.name,
        job.group,
        job.pattern.rw(),
        job.engine.kind.name(),
    );
    format!(
        "{name}: (g={group}): rw={rw}, bs={sizes}, ioengine={engine}, iodepth={}\n",
        job.queue.depth
    )
}

/// `Starting 2 threads and 1 process`.
#[must_use]
pub fn starting(threads: usize, processes: usize) -> String {
    let count =
        |n: usize, word: &str, plural: &str| format!("{n} {}", if n == 1 { word } else { plural });
    let workers = match (threads, processes) {
        (threads, 0) => count(threads, "thread", "threads"),
        (0, processes) => count(processes, "process", "processes"),
        (threads, processes) => {
            count(threads, "thread", "threads")
                + " and "
                + &count(processes, "process", "processes")
        }
    };
    format!("Starting {workers}\n")
}

#[cfg(test)]
mod tests {
    use super::starting;

    #[test]
    fn workers_are_counted_as_fio_does() {
        assert_eq!(starting(0, 1), "Starting 1 process\n");
        assert_eq!(starting(4, 0), "Starting 4 threads\n");
        assert_eq!(starting(1, 3), "Starting 1 thread and 3 processes\n");
    }
}
