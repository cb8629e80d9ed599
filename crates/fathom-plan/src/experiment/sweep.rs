//! A sweep: axes over a job file.

use super::axis::Axis;
use super::cell::PlannedCell;
use super::order::coarse_first;

/// The load without a job file.
const DEFAULT_LOAD: &str = "\
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
    /// The axes.
    pub axes: Vec<Axis>,
    /// Name and text of the job file; the default is direct random reads of 4 KiB.
    pub job_file: Option<(String, String)>,
    /// Options of all cells.
    pub settings: Vec<(String, String)>,
    /// Targets of all cells; when empty, the job file or the axis `target` sets them.
    pub targets: Vec<String>,
    /// Names of targets in results, such as `/mnt/x (xfs)`; other targets keep their path.
    pub display_names: Vec<(String, String)>,
    /// The targets are also measured together.
    pub together: bool,
}

impl Sweep {
    /// Number of values of each axis, and whether they are ordered. Several targets are an additional axis, the last.
    #[must_use]
    pub fn shape(&self) -> Vec<(usize, bool)> {
        let axes = self
            .axes
            .iter()
            .map(|axis| (axis.values.len(), axis.ordered));
        axes.chain((self.target_choices() > 1).then(|| (self.target_choices(), false)))
            .collect()
    }

    /// Names of the axes, in the order of [`Sweep::shape`].
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names = self.axes.iter().map(|axis| axis.name.clone());
        names
            .chain((self.target_choices() > 1).then(|| "target".to_owned()))
            .collect()
    }

    fn display_name(&self, target: &str) -> String {
        self.display_names
            .iter()
            .find(|(file, _)| file == target)
            .map_or(target, |(_, name)| name)
            .to_owned()
    }

    fn target_choices(&self) -> usize {
        let n = self.targets.len();
        n + usize::from(self.together && n > 1)
    }

    /// Number of cells; `None` when it overflows.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        self.shape()
            .iter()
            .try_fold(1_usize, |all, (length, _)| all.checked_mul(*length))
    }

    /// The positions of its cells, in an order that covers the whole grid coarsely first.
    #[must_use]
    pub fn positions(&self) -> Vec<Vec<usize>> {
        coarse_first(&self.shape())
    }

    /// The cell at a position: one index for each axis of [`Sweep::shape`].
    #[must_use]
    pub fn cell(&self, position: &[usize]) -> PlannedCell {
        let at = |axis: &Axis, at: usize| axis.values.get(at).cloned().unwrap_or_default();
        let mut values: Vec<(String, String)> = self
            .axes
            .iter()
            .zip(position)
            .map(|(axis, index)| (axis.name.clone(), at(axis, *index)))
            .collect();
        let mut targets = self.targets.clone();
        if self.target_choices() > 1 {
            let at = position.get(self.axes.len()).copied().unwrap_or(0);
            if let Some(alone) = self.targets.get(at) {
                targets = vec![alone.clone()];
            }
            values.push((
                "target".to_owned(),
                targets
                    .iter()
                    .map(|target| self.display_name(target))
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
            *one = self.display_name(one);
        }
        let (source, job_file) = self
            .job_file
            .clone()
            .unwrap_or(("sweep.fio".to_owned(), DEFAULT_LOAD.to_owned()));
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
            display_names: Vec::new(),
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
        assert_eq!(cells[2].plan_count(), 2);
    }

    #[test]
    fn an_axis_of_targets_names_the_target() {
        let mut sweep = sweep(&[], false);
        sweep.axes.push(Axis::parse("target=/a,/b").expect("paths"));
        let cell = sweep.cell(&[0, 0, 1]);
        assert_eq!(cell.targets, ["/b"]);
        sweep.display_names = vec![("/b".to_owned(), "/b (xfs)".to_owned())];
        let cell = sweep.cell(&[0, 0, 1]);
        assert_eq!(
            (cell.key.as_str(), cell.targets),
            ("bs=4k iodepth=1 target=/b (xfs)", vec!["/b".to_owned()])
        );
        assert!(cell.settings.iter().all(|(name, _)| name != "target"));
    }
}
