//! The utilisation of accelerators that train, from the bandwidth of their read threads.

use fathom_model::{Grid, GridRow, SuiteTraining, Verdict};
use fathom_plan::Training;

/// The devices delivered less than half of what was read: the rate is that of memory.
const FROM_MEMORY: &str = "PAGE_CACHE";

/// The utilisation at each number of accelerators. All of them compute for `bytes / demand` seconds while the cell lasts
/// `bytes / bandwidth`, so that the utilisation is `bandwidth / (accelerators * demand)`.
pub fn of_grid(accelerator: &Training, grid: &Grid) -> SuiteTraining {
    let place = grid.axes.iter().position(|axis| axis == "accelerators");
    let one = |row: &GridRow| {
        let accelerators: u32 = row.values.get(place?)?.parse().ok()?;
        let figures = &row.figures;
        let is_measured = row.failed.is_none()
            && figures.verdict != Verdict::Invalid
            && !figures.codes.iter().any(|code| code == FROM_MEMORY);
        let demand = accelerator.demand() * f64::from(accelerators);
        Some((
            accelerators,
            is_measured.then(|| (figures.bandwidth / demand).min(1.0)),
        ))
    };
    let utilisation: Vec<(u32, Option<f64>)> = grid.rows.iter().filter_map(one).collect();
    let least = f64::from(accelerator.least) / 100.0;
    let enough = utilisation
        .iter()
        .filter(|(_, share)| share.is_some_and(|share| share >= least));
    SuiteTraining {
        most: enough.map(|(accelerators, _)| *accelerators).max(),
        utilisation,
        least: accelerator.least,
    }
}

/// `Accelerator utilisation: 98.0 % of 1, 61.2 % of 2. At least 90 %: 1 accelerator.`
pub fn sentence(training: &SuiteTraining) -> String {
    let shares: Vec<String> = training
        .utilisation
        .iter()
        .map(|(accelerators, share)| match share {
            Some(share) => format!("{:.1} % of {accelerators}", 100.0 * share),
            None => format!("not measured of {accelerators}"),
        })
        .collect();
    let least = training.least;
    let largest = training.utilisation.iter().map(|(n, _)| *n).max();
    let most = match training.most {
        Some(most) if Some(most) == largest => {
            format!(
                "All {} keep at least {least} %: measure more.",
                counted(most)
            )
        }
        Some(most) => format!("At least {least} %: {}.", counted(most)),
        None => format!("At least {least} %: none."),
    };
    let from_memory = if training
        .utilisation
        .iter()
        .any(|(_, share)| share.is_none())
    {
        " Cells that read from memory (PAGE_CACHE), or failed, show no utilisation: use direct=1, or data of five times the memory."
    } else {
        ""
    };
    format!(
        "Accelerator utilisation: {}. {most}{from_memory}",
        shares.join(", ")
    )
}

fn counted(accelerators: u32) -> String {
    let s = if accelerators == 1 { "" } else { "s" };
    format!("{accelerators} accelerator{s}")
}

#[cfg(test)]
mod tests {
    use fathom_analyse::{Repeats, grid};
    use fathom_model::{CellFigures, Nanos};

    use super::*;

    /// 100 samples of 1 MB in 100 ms are 1 GB/s. Three of them share 2.4 GB/s: 80 %.
    #[test]
    fn utilisation_is_compute_time_by_real_time() {
        let accelerator = Training {
            sample: 1_000_000,
            batch: 100,
            compute: Nanos::new(100_000_000),
            read_threads: 4,
            least: 90,
        };
        let of = |bandwidth: f64, code: Option<&str>| CellFigures {
            bandwidth,
            iops: 1.0,
            codes: code.into_iter().map(str::to_owned).collect(),
            ..CellFigures::default()
        };
        let all = [
            vec![of(1e9, None)],
            vec![of(1.9e9, None)],
            vec![of(2.4e9, None)],
            vec![of(4e9, Some(FROM_MEMORY))],
        ];
        let rows = (1..).zip(&all).map(|(n, figures)| {
            let repeats = Repeats {
                figures,
                failed: None,
            };
            (vec![n.to_string()], repeats)
        });
        let training = of_grid(
            &accelerator,
            &grid(vec!["accelerators".to_owned()], rows.collect()),
        );
        let shares = [(1, Some(1.0)), (2, Some(0.95)), (3, Some(0.8)), (4, None)];
        for ((known, share), (n, found)) in shares.iter().zip(&training.utilisation) {
            assert_eq!(known, n);
            assert!((share.unwrap_or(-1.0) - found.unwrap_or(-1.0)).abs() < 1e-9);
        }
        assert_eq!((training.utilisation.len(), training.most), (4, Some(2)));
        let text = sentence(&training);
        assert!(
            text.contains("80.0 % of 3, not measured of 4. At least 90 %: 2 accelerators. Cells"),
            "{text}"
        );
    }
}
