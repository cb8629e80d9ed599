//! The place of an agent among those that a launcher of parallel programs started together.

use std::collections::BTreeMap;

/// A launcher: the variables with rank, number of processes and name of the job.
struct Launcher {
    rank: &'static str,
    size: &'static [&'static str],
    job: &'static [&'static str],
}

/// In this order: `srun` sets variables of its own and, through PMI, of others.
const LAUNCHERS: [Launcher; 5] = [
    // Open MPI: mpirun(1), "Environment variables".
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        job: &["SLURM_JOB_ID", "PBS_JOBID"],
    },
    // srun(1), "Output environment variables".
    Launcher {
        rank: "SLURM_PROCID",
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        job: &["SLURM_JOB_ID"],
    },
    // The process managers of MPICH.
    Launcher {
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        job: &["SLURM_JOB_ID", "PBS_JOBID"],
    },
    // PRRTE and other servers of PMIx.
    Launcher {
        rank: "PMIX_RANK",
        size: &[],
        job: &["SLURM_JOB_ID"],
    },
    // An indexed Job of Kubernetes.
    Launcher {
        rank: "JOB_COMPLETION_INDEX",
        size: &[],
        job: &[],
    },
];

/// The rank of this process, and the labels of its agent: `rank`, and where the launcher says so, `size` and `job`.
///
/// ```
/// let variable = |name: &str| match name {
///     "SLURM_PROCID" => Some("3".to_owned()),
///     "SLURM_NTASKS" => Some("8".to_owned()),
///     _ => None,
/// };
/// let (rank, labels) = fathom_hosts::launched(&variable).expect("srun");
/// assert_eq!((rank, labels["size"].as_str()), (3, "8"));
/// ```
///
/// # Errors
/// When no launcher started this process: which variables were looked for.
pub fn launched(
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(u32, BTreeMap<String, String>), String> {
    let known = LAUNCHERS.iter().find_map(|launcher| {
        let rank: u32 = variable(launcher.rank)?.trim().parse().ok()?;
        Some((launcher, rank))
    });
    let Some((launcher, rank)) = known else {
        let names: Vec<&str> = LAUNCHERS.iter().map(|launcher| launcher.rank).collect();
        return Err(format!(
            "no launcher started this process: none of {} is set to a number; leave out --join, or use --host-name",
            names.join(", ")
        ));
    };
    let first = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()))
    };
    let mut labels = BTreeMap::from([("rank".to_owned(), rank.to_string())]);
    labels.extend(first(launcher.size).map(|size| ("size".to_owned(), size)));
    labels.extend(first(launcher.job).map(|job| ("job".to_owned(), job)));
    Ok((rank, labels))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<(u32, BTreeMap<String, String>), String> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        launched(&find)
    }

    /// `mpirun` below Slurm: the rank is that of mpirun, the job that of Slurm, whose own rank is 0 for all processes of a node.
    #[test]
    fn the_innermost_launcher_gives_the_rank() {
        let (rank, labels) = of(&[
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
            ("SLURM_JOB_ID", "77"),
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
        ])
        .expect("mpirun");
        assert_eq!(
            (rank, labels["size"].as_str(), labels["job"].as_str()),
            (5, "8", "77")
        );
        let (rank, labels) = of(&[("JOB_COMPLETION_INDEX", "2")]).expect("Kubernetes");
        assert_eq!((rank, labels.get("size")), (2, None));
    }

    #[test]
    fn without_a_launcher_the_variables_are_named() {
        for variables in [&[][..], &[("PMI_RANK", "x")]] {
            let error = of(variables).expect_err("no launcher");
            assert!(error.contains("SLURM_PROCID"), "{error}");
        }
    }
}
