//! Each file once per pass: the I/O of the file-operation engines.

use fathom_model::{FileService, Job, Traffic};

use super::build::Region;
use super::{Op, PlannedIo};
use crate::rng::Rng;

const SEED_VISITS: u64 = 7;

/// One I/O for each file, with the file's length: no data is transferred, but fio counts those
/// bytes.
#[derive(Clone)]
pub(crate) struct FilePass {
    /// The files, in order.
    order: Vec<u32>,
    lens: Vec<u32>,
    op: Op,
    next: usize,
}

impl FilePass {
    /// The pass of `job`; the lengths of its files are those of `regions`.
    pub fn new(job: &Job, regions: &[Region]) -> Self {
        let mut order: Vec<u32> = (0..regions.len() as u32).collect();
        if !matches!(
            job.files.service,
            FileService::RoundRobin | FileService::Sequential
        ) {
            shuffle(&mut order, &mut Rng::new(job.pattern.seed, SEED_VISITS));
        }
        let len = |region: &Region| u32::try_from(region.end - region.start).unwrap_or(u32::MAX);
        // As in fio, the operations count as writes if the job only writes, and as reads otherwise.
        let op = if job.pattern.traffic == Traffic::Write {
            Op::Write
        } else {
            Op::Read
        };
        FilePass {
            order,
            lens: regions.iter().map(len).collect(),
            op,
            next: 0,
        }
    }

    /// Bytes of one pass.
    pub fn pass(&self) -> u64 {
        self.lens.iter().map(|len| u64::from(*len)).sum()
    }

    pub fn fill(&mut self, left: &mut u64, out: &mut Vec<PlannedIo>, want: usize) {
        let end = self.order.len().min(self.next + want);
        for &file in &self.order[self.next..end] {
            let len = self.lens[file as usize];
            *left = left.saturating_sub(u64::from(len));
            out.push(PlannedIo {
                offset: 0,
                len,
                file,
                op: self.op,
                then_write: false,
                prio: 0,
            });
        }
        self.next = end;
    }

    pub fn restart(&mut self) {
        self.next = 0;
    }
}

/// Fisher-Yates shuffle.
fn shuffle(order: &mut [u32], rng: &mut Rng) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Access;

    fn pass(file_pass: &mut FilePass) -> Vec<u32> {
        let (mut left, mut out) = (file_pass.pass(), Vec::new());
        while left > 0 {
            file_pass.fill(&mut left, &mut out, 3);
        }
        file_pass.restart();
        out.iter().map(|planned_io| planned_io.file).collect()
    }

    #[test]
    fn each_file_occurs_once_per_pass() {
        let mut job = crate::testing::job(Traffic::Read, Access::Sequential { skip: 0 });
        let regions = vec![
            Region {
                start: 0,
                end: 4096
            };
            50
        ];
        let in_order: Vec<u32> = (0..50).collect();
        let mut file_pass = FilePass::new(&job, &regions);
        assert_eq!(
            (pass(&mut file_pass), pass(&mut file_pass)),
            (in_order.clone(), in_order.clone())
        );
        job.files.service = FileService::Random;
        let mut drawn = pass(&mut FilePass::new(&job, &regions));
        assert_ne!(drawn, in_order);
        drawn.sort_unstable();
        assert_eq!(drawn, in_order);
    }
}
