//! A sweep: axes over a job file.

use super::axis::Axis;
use super::cell::PlannedCell;
use super::order::coarse_first;

/// What is measured where no job file is given.
const LOAD: &str = "\
[sweep]
rw=randread
bs=4k
iodepth=16
direct=1
time_based
group_reporting
";

/// A grid of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// What is varied.
    pub axes: Vec<Axis>,
    /// Name and text of the job file; nothing is a load of our own: random reads of 4 KiB, direct.
    pub job_file: Option<(String, String)>,
    /// Options that all cells have.
    pub settings: Vec<(String, String)>,
    /// Where all cells go; empty leaves it to the job file or to the axis `target`.
    pub targets: Vec<String>,
    /// What targets are called in results, such as `/mnt/x (xfs)`; the others are called as they are.
    pub called: Vec<(String, String)>,
    /// Each target is also loaded together with the others.
    pub together: bool,
}

impl Sweep {
    /// How many values each axis has, and whether they have an order. Several targets are an axis of their own, the last.
    #[must_use]
    pub fn shape(&self) -> Vec<(usize, bool)> {
        let axes = self
            .axes
            .iter()
            .map(|axis| (axis.values.len(), axis.ordered));
        axes.chain((self.alone_or_together() > 1).then(|| (self.alone_or_together(), false)))
            .collect()
    }

    /// Names of the axes, in the order of [`Sweep::shape`].
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names = self.axes.iter().map(|axis| axis.name.clone());
        names
            .chain((self.alone_or_together() > 1).then(|| "target".to_owned()))
            .collect()
    }

    fn call(&self, target: &str) -> String {
        self.called
            .iter()
            .find(|(file, _)| file == target)
            .map_or(target, |(_, name)| name)
            .to_owned()
    }

    fn alone_or_together(&self) -> usize {
        let n = self.targets.len();
        n + usize::from(self.together && n > 1)
    }

    /// How many cells there are; nothing when they cannot be counted.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        self.shape()
            .iter()
            .try_fold(1_usize, |all, (length, _)| all.checked_mul(*length))
    }

    /// Its places, such that the first of them already show the whole grid coarsely.
    #[must_use]
    pub fn places(&self) -> Vec<Vec<usize>> {
        coarse_first(&self.shape())
    }

    /// The cell at a place: one index for each axis of [`Sweep::shape`].
    #[must_use]
    pub fn cell(&self, place: &[usize]) -> PlannedCell {
        let at = |axis: &Axis, at: usize| axis.values.get(at).cloned().unwrap_or_default();
        let mut values: Vec<(String, String)> = self
            .axes
            .iter()
            .zip(place)
            .map(|(axis, place)| (axis.name.clone(), at(axis, *place)))
            .collect();
        let mut targets = self.targets.clone();
        if self.alone_or_together() > 1 {
            let at = place.get(self.axes.len()).copied().unwrap_or(0);
            if let Some(alone) = self.targets.get(at) {
                targets = vec![alone.clone()];
            }
            values.push((
                "target".to_owned(),
                targets
                    .iter()
                    .map(|target| self.call(target))
                    .collect::<Vec<_>>()
                    .join(" + "),
            ));
        }
        let options = values.iter().filter(|(name, _)| name != "target").cloned();
        let settings = self.settings.iter().cloned().chain(options).collect();
        if let Some((_, one)) = values
            .iter_mut()
            .find(|(name, _)| name == "target" && self.targets.is_empty())
        {
            targets = vec![one.clone()];
            *one = self.call(one);
        }
        let (source, job_file) = self
            .job_file
            .clone()
            .unwrap_or(("sweep.fio".to_owned(), LOAD.to_owned()));
        PlannedCell {
            key: key(&values),
            values,
            source,
            job_file,
            settings,
            targets,
            ..PlannedCell::default()
        }
    }
}

/// `bs=4k iodepth=8`.
fn key(values: &[(String, String)]) -> String {
    values
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(targets: &[&str], together: bool) -> Sweep {
        let axes = ["bs=4k,16k", "iodepth=1..4*2"].map(|text| Axis::parse(text).expect(text));
        Sweep {
            axes: axes.to_vec(),
            job_file: None,
            settings: vec![("runtime".to_owned(), "1s".to_owned())],
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            called: Vec::new(),
            together,
        }
    }

    #[test]
    fn a_cell_is_the_load_with_its_values_set() {
        let cell = sweep(&["/mnt/x"], false).cell(&[1, 2]);
        assert_eq!(cell.key, "bs=16k iodepth=4");
        let arguments = [
            "sweep.fio",
            "--set",
            "runtime=1s",
            "--set",
            "bs=16k",
            "--set",
            "iodepth=4",
            "--set",
            "filename=/mnt/x",
        ];
        assert_eq!(cell.arguments(0), arguments);
    }

    #[test]
    fn several_targets_are_loaded_alone_and_together() {
        let sweep = sweep(&["a", "b"], true);
        assert_eq!(
            (sweep.count(), sweep.names()),
            (
                Some(18),
                vec!["bs".into(), "iodepth".into(), "target".to_owned()]
            )
        );
        let cells: Vec<PlannedCell> = (0..3).map(|at| sweep.cell(&[0, 0, at])).collect();
        assert_eq!(cells[0].targets, ["a"]);
        assert_eq!(cells[2].targets, ["a", "b"]);
        assert_eq!(cells[2].key, "bs=4k iodepth=1 target=a + b");
        assert_eq!(cells[2].sides(), 2);
    }

    #[test]
    fn an_axis_of_targets_names_the_target() {
        let mut sweep = sweep(&[], false);
        sweep.axes.push(Axis::parse("target=/a,/b").expect("paths"));
        let cell = sweep.cell(&[0, 0, 1]);
        assert_eq!(cell.targets, ["/b"]);
        sweep.called = vec![("/b".to_owned(), "/b (xfs)".to_owned())];
        let cell = sweep.cell(&[0, 0, 1]);
        assert_eq!(
            (cell.key.as_str(), cell.targets),
            ("bs=4k iodepth=1 target=/b (xfs)", vec!["/b".to_owned()])
        );
        assert!(cell.settings.iter().all(|(name, _)| name != "target"));
    }
}
