//! What a job may do on the host of an agent.

use std::path::{Component, Path, PathBuf};

use fathom_model::{Job, Plan};

/// How the name of an image as a target begins, see [`fathom_model::RbdImage::target`].
const IMAGE: &[u8] = b"rbd:";

/// What the user of an agent allows.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// Files, devices and directories, absolute and without links.
    allowed: Vec<PathBuf>,
    /// Commands and settings of the host.
    exec: bool,
}

impl Permissions {
    /// What `--allow` and `--allow-exec` say.
    ///
    /// # Errors
    /// When a path does not exist.
    pub fn new(allow: &[PathBuf], exec: bool) -> Result<Permissions, String> {
        let allowed = allow.iter().map(|path| {
            // An image of a Ceph cluster, by its name as a target.
            if path.as_os_str().as_encoded_bytes().starts_with(IMAGE) {
                return Ok(path.clone());
            }
            path.canonicalize()
                .map_err(|error| format!("--allow={}: {error}", path.display()))
        });
        Ok(Permissions {
            allowed: allowed.collect::<Result<_, _>>()?,
            exec,
        })
    }

    /// Every reason to refuse the plan.
    pub fn refusals(&self, plan: &Plan) -> Vec<String> {
        let mut refusals = Vec::new();
        let mut refuse = |reason: String| {
            if !refusals.contains(&reason) {
                refusals.push(reason);
            }
        };
        if !self.exec {
            for command in fathom_analyse::plan_commands(plan) {
                refuse(format!(
                    "{command}; this agent runs commands only with --allow-exec"
                ));
            }
        }
        for job in &plan.jobs {
            let settings = &job.engine.settings;
            let changes_host = settings.scheduler.is_some()
                || settings.credentials.user.is_some()
                || settings.credentials.group.is_some();
            if changes_host && !self.exec {
                refuse(format!(
                    "{}: ioscheduler, uid and gid need an agent with --allow-exec",
                    job.name
                ));
            }
            // The engines without targets open none, whatever the job names.
            let has_targets =
                job.engine.kind.has_targets() || job.engine.kind.file_operation().is_some();
            if let Some(image) = &job.engine.settings.rbd {
                let target = PathBuf::from(image.target());
                if !self.allowed.contains(&target) {
                    let target = target.display();
                    refuse(format!(
                        "{target}: outside of what this agent may use; start it with --allow={target}"
                    ));
                }
            }
            for path in job.files.paths.iter().filter(|_| has_targets) {
                if let Err(reason) = self.check(path) {
                    refuse(reason);
                }
            }
        }
        refusals
    }

    /// Whether jobs may use this path.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        match resolved(path) {
            Some(real) if self.allowed.iter().any(|allowed| real.starts_with(allowed)) => Ok(()),
            _ => Err(format!(
                "{}: outside of what this agent may use; start it with --allow=PATH for that file, device or directory",
                path.display()
            )),
        }
    }
}

/// What a run on several hosts cannot do yet: its figures would be wrong, or files would be left on other hosts.
pub fn unsupported(plan: &Plan) -> Vec<String> {
    let mut problems = Vec::new();
    for (place, job) in plan.jobs.iter().enumerate() {
        for option in unsupported_options(job, place) {
            let problem = format!("{}: {option} does not work on several hosts", job.name);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems
}

fn unsupported_options(job: &Job, place: usize) -> Vec<&'static str> {
    let logs = &job.accounting.logs;
    let has_log = [&logs.bw, &logs.iops, &logs.lat, &logs.hist, &logs.trace]
        .into_iter()
        .any(Option::is_some);
    let keeps_state = job
        .verify
        .as_ref()
        .is_some_and(|verify| verify.state_save || verify.state_load.is_some());
    [
        (
            // Each host would wait for its own section alone.
            place > 0 && job.start.after_section.is_some(),
            "wait_for (stonewall does)",
        ),
        (has_log, "a log file (write_bw_log, write_iolog, ...)"),
        (
            keeps_state,
            "a verify state (verify_state_save, verify_state_load)",
        ),
        (job.pace.replay.is_some(), "read_iolog"),
        (job.accounting.blame, "blame"),
    ]
    .into_iter()
    .filter_map(|(is_set, option)| is_set.then_some(option))
    .collect()
}

/// The path with every link followed, as far as it exists; `None` if it cannot be known, as with `..` below what does not exist.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let mut missing = Vec::new();
    let mut existing = path.as_path();
    loop {
        match existing.canonicalize() {
            Ok(real) => {
                return Some(
                    missing
                        .iter()
                        .rev()
                        .fold(real, |real, part| real.join(part)),
                );
            }
            // A dangling link would be created where it points to.
            Err(_) if existing.symlink_metadata().is_ok() => return None,
            Err(_) => match existing.components().next_back()? {
                Component::Normal(part) => {
                    missing.push(part.to_owned());
                    existing = existing.parent()?;
                }
                _ => return None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_testkit::Scratch;

    fn plan(arguments: &[&str]) -> Plan {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        let invocation =
            fathom_plan::parse_args(&arguments, fathom_model::Personality::Fathom).expect("valid");
        let machine = crate::this_machine::ThisMachine;
        fathom_plan::plan(&invocation, &machine, &machine)
            .expect("a plan")
            .plan
    }

    /// A target outside, one behind `..`, and links out of the directory are refused; what is inside is not.
    #[test]
    fn only_what_is_below_an_allowed_path_may_be_used() {
        let scratch = Scratch::new().expect("scratch");
        let inside = scratch.join("inside");
        std::fs::create_dir(&inside).expect("a directory");
        std::fs::write(scratch.join("outside"), "").expect("a file");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(scratch.join(to), inside.join(name)).expect("a link");
        };
        link("outside", "out");
        link("not-there", "dangling");
        link("", "up");
        let allowed = Permissions::new(std::slice::from_ref(&inside), false).expect("it exists");
        let refused = |name: &str| {
            let file = format!("--filename={}", inside.join(name).display());
            let plan = plan(&["--name=a", "--rw=read", "--size=1m", &file]);
            !allowed.refusals(&plan).is_empty()
        };
        for name in ["new", "deep/new", "."] {
            assert!(!refused(name), "{name}");
        }
        for name in [
            "out",
            "dangling",
            "up/outside",
            "up/new",
            "../outside",
            "no/../../new",
        ] {
            assert!(refused(name), "{name}");
        }
        assert!(Permissions::new(&[scratch.join("nowhere")], false).is_err());
    }

    #[test]
    fn commands_and_settings_of_the_host_need_a_permission() {
        for option in [
            "--exec_prerun=true",
            "--exec_postrun=true",
            "--ioscheduler=none",
            "--uid=1",
        ] {
            let plan = plan(&["--name=a", "--ioengine=null", "--size=1m", option]);
            let judge = |exec| {
                Permissions {
                    allowed: Vec::new(),
                    exec,
                }
                .refusals(&plan)
            };
            assert_eq!(
                (judge(false).len(), judge(true)),
                (1, Vec::new()),
                "{option}"
            );
        }
        let program = plan(&["--name=a", "--ioengine=exec", "--program=/bin/true"]);
        assert_eq!(Permissions::default().refusals(&program).len(), 1);
    }

    #[test]
    fn what_several_hosts_cannot_do_is_named() {
        let base = ["--name=a", "--ioengine=null", "--size=1m"];
        assert!(unsupported(&plan(&base)).is_empty());
        for (option, named) in [
            ("--write_bw_log=x", "log file"),
            ("--verify_state_save=1", "verify state"),
        ] {
            let mut arguments = base.to_vec();
            arguments.extend(["--verify=crc32c", "--rw=write", option]);
            let problems = unsupported(&plan(&arguments));
            assert!(
                problems.iter().any(|text| text.contains(named)),
                "{problems:?}"
            );
        }
        let mut arguments = base.to_vec();
        arguments.extend(["--name=b", "--stonewall", "--ioengine=null", "--size=1m"]);
        assert_eq!(unsupported(&plan(&arguments)).len(), 0);
        arguments.push("--wait_for=a");
        assert_eq!(unsupported(&plan(&arguments)).len(), 1);
    }
}
