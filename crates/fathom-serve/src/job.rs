//! Which jobs a page may start: the options that shape the load, and nothing that names a file or a command.

/// Options of a job file that a page may use. Whatever opens another path, runs a command or writes a log is not among them.
const OPTIONS: [&str; 27] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "iodepth",
    "numjobs",
    "ioengine",
    "direct",
    "size",
    "io_size",
    "number_ios",
    "runtime",
    "time_based",
    "ramp_time",
    "rwmixread",
    "rwmixwrite",
    "rate",
    "rate_iops",
    "random_distribution",
    "norandommap",
    "randrepeat",
    "randseed",
    "thinktime",
    "fsync",
    "fdatasync",
    "group_reporting",
    "stonewall",
];
const RW: [&str; 7] = [
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "readwrite",
    "randrw",
];
/// The values of options that could name something else.
const VALUES: [(&str, &[&str]); 3] = [
    ("rw", &RW),
    ("readwrite", &RW),
    ("ioengine", &["psync", "libaio", "io_uring"]),
];
/// The longest job, in bytes, and its most lines.
const LONGEST: (usize, usize) = (8192, 200);
/// The longest time of a job, seconds.
const LONGEST_RUN: u32 = 3600;

/// The job file of a request on `path`, written again from its parts: what it contains is only what was understood here.
///
/// # Errors
/// The line that is not allowed, and what is.
pub(crate) fn job_file(job: &str, path: &str) -> Result<String, String> {
    if job.len() > LONGEST.0 || job.lines().count() > LONGEST.1 {
        return Err(format!(
            "the job is too long: at most {} bytes and {} lines",
            LONGEST.0, LONGEST.1
        ));
    }
    // A colon separates files in filename=; job files escape it with a backslash.
    let filename = path.replace('\\', "\\\\").replace(':', "\\:");
    let mut file = format!("[global]\nfilename={filename}\n");
    let mut jobs = 0;
    // No option makes the file longer, and no job lasts for ever.
    let mut lines = format!("size=100%\nruntime={LONGEST_RUN}\n");
    for (number, line) in job.lines().enumerate() {
        let at = |problem: String| format!("line {}: {problem}", number + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name
                .strip_suffix(']')
                .filter(|name| is_word(name))
                .ok_or_else(|| {
                    at("a section is [NAME] of letters, digits, '-' and '_'".to_owned())
                })?;
            if name != "global" {
                jobs += 1;
                lines += &format!("[{name}]\n");
            } else if jobs > 0 {
                return Err(at("[global] comes before the jobs".to_owned()));
            }
            continue;
        }
        lines += &option(line).map_err(at)?;
    }
    if jobs == 0 {
        return Err("the job has no section such as [reads]".to_owned());
    }
    file += &lines;
    Ok(file)
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// A line of a job file from an allowed option.
fn option(line: &str) -> Result<String, String> {
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    let (name, value) = (name.trim(), value.trim());
    if !OPTIONS.contains(&name) {
        return Err(format!(
            "'{}' cannot be used in a run that is started from a page; these can: {}",
            name.escape_debug(),
            OPTIONS.join(", ")
        ));
    }
    if !value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".,:%_-".contains(&byte))
    {
        return Err(format!(
            "the value of {name} has a character other than letters, digits and . , : % _ -"
        ));
    }
    let allowed = VALUES.iter().find(|(known, _)| *known == name);
    if let Some((_, values)) = allowed
        && !values.contains(&value)
    {
        return Err(format!("{name} is one of {}", values.join(", ")));
    }
    let share = || value.strip_suffix('%')?.parse::<u8>().ok();
    if name == "size" && !share().is_some_and(|share| (1..=100).contains(&share)) {
        return Err("size is a share such as 50%: a run must not make the file longer".to_owned());
    }
    let seconds = || match value.strip_suffix('m') {
        Some(minutes) => minutes.parse::<u32>().ok()?.checked_mul(60),
        None => value.trim_end_matches('s').parse().ok(),
    };
    let is_time = ["runtime", "ramp_time"].contains(&name);
    if is_time && !seconds().is_some_and(|seconds| (1..=LONGEST_RUN).contains(&seconds)) {
        return Err(format!(
            "{name} is a number of seconds, or minutes such as 5m, up to an hour"
        ));
    }
    Ok(match value {
        "" => format!("{name}\n"),
        value => format!("{name}={value}\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_written_again() {
        let job = "; a comment\r\n[reads]\r\n rw = randread \r\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nruntime=10\ntime_based\nsize=50%\n";
        assert_eq!(
            job_file(job, "/data/a:b").as_deref(),
            Ok(
                "[global]\nfilename=/data/a\\:b\nsize=100%\nruntime=3600\n[reads]\nrw=randread\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nruntime=10\ntime_based\nsize=50%\n"
            )
        );
    }

    /// What opens another path, runs a command, writes a file, or hides it from this check.
    #[test]
    fn other_paths_commands_and_files_are_refused() {
        for line in [
            "filename=/etc/passwd",
            "FILENAME=/etc/passwd",
            "filename_format=/etc/x",
            "directory=/etc",
            "opendir=/etc",
            "filesize=100g",
            "size=100g",
            "size=0%",
            "size=101%",
            "offset=1g",
            "runtime=2h",
            "runtime=0",
            "runtime=61m",
            "runtime=99999999999m",
            "timeout=1d",
            "nrfiles=10",
            "exec_prerun=touch /tmp/x",
            "exec_postrun=touch /tmp/x",
            "ioengine=external:/tmp/evil.so",
            "ioengine=/tmp/evil.so",
            "ioengine=exec",
            "ioengine=net",
            "ioengine=filedelete",
            "rw=trim",
            "rw=randtrim",
            "write_bw_log=/tmp/x",
            "write_lat_log",
            "write_iops_log=x",
            "write_hist_log=x",
            "write_iolog=/tmp/x",
            "read_iolog=/etc/passwd",
            "replay_redirect=/dev/sda",
            "merge_blktrace_file=/tmp/x",
            "output=/tmp/x",
            "aux-path=/tmp",
            "verify=crc32c",
            "verify_state_save=1",
            "buffer_pattern='/etc/passwd'",
            "bssplit=4k/50:8k/50",
            "cgroup=x",
            "hostname=example.com",
            "ignore_error=EIO",
            "unlink=1",
            "allow_mounted_write=1",
            "include /etc/passwd",
            "include=/etc/passwd",
            "bs=${HOME}",
            "bs=`id`",
            "bs=$(id)",
            "bs=4k;filename=/etc/passwd",
            "bs=4k filename=/etc/passwd",
            "bs=4k\\",
            "name=x",
            "rw",
            "=",
            "[a b]",
            "[../../etc]",
            "[a]b",
            "[",
            "rw=read\u{2028}filename=/etc/passwd",
            "rw=read\u{b}filename=/etc/passwd",
        ] {
            for job in [format!("[a]\n{line}\n"), format!("[global]\n{line}\n[a]\n")] {
                assert!(job_file(&job, "/data/file").is_err(), "{job}");
            }
        }
        for job in ["", "bs=4k", "[global]\nbs=4k\n", "[a]\n[global]\nbs=4k"] {
            assert!(job_file(job, "/data/file").is_err(), "{job}");
        }
        assert!(job_file(&format!("[a]\n{}", "#\n".repeat(300)), "/data/file").is_err());
        assert!(job_file(&format!("[a]\nbs={}", "4".repeat(9000)), "/data/file").is_err());
    }
}
