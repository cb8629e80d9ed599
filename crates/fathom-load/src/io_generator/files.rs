//! Selects the file of the next I/O.

use fathom_model::FileService;
use rand_distr::{Distribution as _, Normal, Zipf};

use crate::rng::Rng;

/// Selects files; files that have ended their pass are skipped.
#[derive(Clone, Debug)]
pub(super) struct Files {
    service: FileService,
    every: u32,
    left: u32,
    at: usize,
    ended: Vec<bool>,
    open: usize,
    rng: Rng,
}

impl Files {
    pub fn new(count: usize, service: FileService, every: u32, rng: Rng) -> Self {
        Files {
            service,
            every: every.max(1),
            left: 0,
            at: count - 1,
            ended: vec![false; count],
            open: count,
            rng,
        }
    }

    /// The next file; `None` when all have ended.
    pub fn next(&mut self) -> Option<usize> {
        if self.open == 0 {
            return None;
        }
        if self.ended.len() == 1 {
            return Some(0);
        }
        if self.left == 0 || self.ended[self.at] {
            self.at = self.choose();
            self.left = self.every;
        }
        self.left -= 1;
        Some(self.at)
    }

    fn choose(&mut self) -> usize {
        let n = self.ended.len();
        let preferred = match self.service {
            FileService::RoundRobin => (self.at + 1) % n,
            FileService::Sequential => {
                // The first file that has not ended; `at` starts at the last file so that the
                // search below wraps to 0.
                if self.ended[self.at] || self.left == 0 && self.open == n {
                    0
                } else {
                    self.at
                }
            }
            FileService::Random => self.rng.below(n as u64) as usize,
            FileService::Zipf(theta) => {
                Zipf::new(n as f64, theta).map_or(0, |z| z.sample(self.rng.inner()) as usize - 1)
            }
            FileService::Pareto(power) => {
                (n as f64 * self.rng.unit().powf(power.ln() / (1.0 - power).ln())) as usize
            }
            FileService::Normal(deviation) => {
                Normal::new(n as f64 / 2.0, n as f64 * deviation / 100.0).map_or(0, |law| {
                    law.sample(self.rng.inner()).clamp(0.0, (n - 1) as f64) as usize
                })
            }
        };
        (0..n)
            .map(|step| (preferred.min(n - 1) + step) % n)
            .find(|file| !self.ended[*file])
            .expect("at least one file is open")
    }

    /// Marks `file` as finished for this pass.
    pub fn end(&mut self, file: usize) {
        if !self.ended[file] {
            self.ended[file] = true;
            self.open -= 1;
            self.left = 0;
        }
    }

    pub fn restart(&mut self) {
        self.ended.fill(false);
        self.open = self.ended.len();
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(service: FileService, every: u32, n: usize) -> Vec<usize> {
        let mut files = Files::new(3, service, every, Rng::new(1, 1));
        (0..n).map_while(|_| files.next()).collect()
    }

    #[test]
    fn each_service_has_its_order() {
        assert_eq!(walk(FileService::RoundRobin, 1, 6), [0, 1, 2, 0, 1, 2]);
        assert_eq!(walk(FileService::RoundRobin, 2, 6), [0, 0, 1, 1, 2, 2]);
        assert_eq!(walk(FileService::Sequential, 1, 4), [0, 0, 0, 0]);
        assert!(walk(FileService::Random, 1, 100).contains(&2));
    }

    #[test]
    fn ended_files_are_skipped() {
        let mut files = Files::new(3, FileService::Sequential, 1, Rng::new(1, 1));
        let mut seen = Vec::new();
        while let Some(file) = files.next() {
            seen.push(file);
            files.end(file);
        }
        assert_eq!(seen, [0, 1, 2]);
        files.restart();
        assert_eq!(files.next(), Some(0));
    }
}
