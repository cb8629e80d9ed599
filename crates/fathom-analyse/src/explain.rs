//! The catalogue: every finding with its number, its name, what it means and what to do.

/// A code, explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Its number. Once given it never changes, and none is given twice.
    pub id: &'static str,
    /// Its name.
    pub code: &'static str,
    /// What was seen.
    pub means: &'static str,
    /// Why it matters.
    pub matters: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// What a finding means, by its number or its name; nothing for one that there is not. Letter case does not matter.
#[must_use]
pub fn explain(code: &str) -> Option<&'static Explanation> {
    EXPLANATIONS
        .iter()
        .find(|e| e.code.eq_ignore_ascii_case(code) || e.id.eq_ignore_ascii_case(code))
}

/// The number of a name; every finding has one, which a test sees to.
pub(crate) fn id_of(code: &str) -> &'static str {
    explain(code).map_or("", |one| one.id)
}

/// Every finding, by number. New ones go to the end, with the next number.
pub const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        id: "F001",
        code: "WORKER_DIED",
        means: "A worker thread ended without handing over what it had recorded.",
        matters: "Its I/O is missing from every total, so rates are too low and nothing says by how much.",
        remedy: "Run again; report it with the job file if it returns.",
    },
    Explanation {
        id: "F002",
        code: "NOT_CONSERVED",
        means: "Some planned I/Os came to no end, or bytes asked for are neither moved nor missing.",
        matters: "Conservation holds exactly in every correct run: planned = ok + short + failed + timed out + not sent. If it breaks, the counting is wrong.",
        remedy: "Report it as a fault of fathom; do not use the figures.",
    },
    Explanation {
        id: "F003",
        code: "SUMMARY_DISAGREES",
        means: "The intervals of a job do not add up to its totals, or a rate of another program's result to its amount and time.",
        matters: "Charts and summaries would tell different stories.",
        remedy: "Do not use the figures. Of a run of fathom, report it as its fault; of another's, get the file as it was written.",
    },
    Explanation {
        id: "F004",
        code: "VERIFY_FAILED",
        means: "Blocks read back differ from what was written. With verify=fathom each is told with its class (lost write, stale data, torn block, torn sector, shorn tail, misdirected write or read, swapped or duplicated blocks, bit flip, zeroed, data of another run, target or job), its file and byte offset, the generation expected and found, and when each was written. A generation is the pass of the job that wrote it; a write has its number in the job.",
        matters: "The target, or something between it and this program, corrupts data. Speed is then no longer the question. What a second read gave tells where: the same bytes are stored like this; right bytes mean that the way back (memory, cable, controller) is at fault.",
        remedy: "Keep the target as it is. A lost write or stale data points at a volatile cache, a flush that does nothing, or firmware; a torn or shorn block at power or a reset; a misdirected or swapped one at an address map (RAID, thin provisioning, flash translation); a flipped bit at memory or cabling; data of another run or job at a second writer. Read the kernel log and the device's own log at the times given, then verify again; --output-format=json lists every wrong block under fathom.entries.verify.",
    },
    Explanation {
        id: "F005",
        code: "SHORT_IO",
        means: "I/Os completed with fewer bytes than asked for.",
        matters: "Counting them as done would turn missing work into speed. They are left out of IOPS, bandwidth and latency.",
        remedy: "Look for a target that ends early, is full, or fails.",
    },
    Explanation {
        id: "F006",
        code: "IO_ERROR",
        means: "I/Os failed, or a job was ended by an error.",
        matters: "Failed I/Os often return faster or slower than good ones; they are counted apart and are in no rate or latency.",
        remedy: "Read the kernel log for the device and mend the cause. With continue_on_error the run is only degraded.",
    },
    Explanation {
        id: "F007",
        code: "TIMED_OUT",
        means: "I/Os never completed and were given up after waiting.",
        matters: "The slowest I/Os of the run are the ones that no latency figure holds.",
        remedy: "Look for a hung device, path or server.",
    },
    Explanation {
        id: "F008",
        code: "TARGET_SHRANK",
        means: "The file or device became smaller than it was at the start.",
        matters: "Reads behind the end cost nothing, so rates soar while nothing is read.",
        remedy: "Find what truncates or replaces the target.",
    },
    Explanation {
        id: "F009",
        code: "NOTHING_DONE",
        means: "A job ran but completed no I/O.",
        matters: "Zeros in a result look like a very slow device.",
        remedy: "See the error of the job and its size, io_size and number_ios.",
    },
    Explanation {
        id: "F010",
        code: "GENERATOR_STALL",
        means: "The load generator itself was stopped or starved: its watchdog woke far too late.",
        matters: "A stopped generator measures nothing while it stands still. In an open loop the I/Os that were due meanwhile are counted as waiting, so response times show the stall; service times hide it.",
        remedy: "Look for suspended processes, CPU quotas, overcommitted hosts and swapping; then run again.",
    },
    Explanation {
        id: "F011",
        code: "VERIFY_NOTHING",
        means: "Verification was asked for, but some or all blocks were not checked.",
        matters: "A check that checks nothing always passes.",
        remedy: "Let the job run to its end, and see that there is something to verify.",
    },
    Explanation {
        id: "F012",
        code: "INTERRUPTED",
        means: "The run ended before its plan did.",
        matters: "Averages over a part of the plan may differ from those over the whole.",
        remedy: "Run again for the whole plan.",
    },
    Explanation {
        id: "F013",
        code: "RAN_SHORT",
        means: "A time-based job ended before its time.",
        matters: "The start of a run (empty caches, fresh flash) weighs more in a short one.",
        remedy: "Mend what ended it and run again.",
    },
    Explanation {
        id: "F014",
        code: "JOB_SKIPPED",
        means: "A job never started.",
        matters: "Totals of its group lack its share.",
        remedy: "Mend the job before it, or what ended the run.",
    },
    Explanation {
        id: "F015",
        code: "RATE_NOT_REACHED",
        means: "An open-loop job did less than its planned rate.",
        matters: "Above its capacity a target queues without bound: latency then tells the length of the run, not the speed of the target.",
        remedy: "Ask for less, or read the result as an overload test.",
    },
    Explanation {
        id: "F016",
        code: "LATE_ISSUE",
        means: "Open-loop I/Os were handed over well after they were due although the generator was not stopped.",
        matters: "The target did not see the planned arrivals. Response times include the wait, service times do not.",
        remedy: "Raise iodepth, lower the rate, or use more jobs.",
    },
    Explanation {
        id: "F017",
        code: "DEPTH_NOT_REACHED",
        means: "By Little's law far fewer I/Os were in flight than iodepth asked for.",
        matters: "The figures belong to a smaller queue depth than the one in the job file.",
        remedy: "Use direct=1, another engine or more jobs; buffered I/O and some file systems run requests one by one.",
    },
    Explanation {
        id: "F018",
        code: "SYNC_ENGINE_DEPTH",
        means: "iodepth was set for an engine that returns only when its I/O is done.",
        matters: "The setting has no effect: the figures are those of queue depth 1.",
        remedy: "Use io_uring or libaio, or numjobs.",
    },
    Explanation {
        id: "F019",
        code: "PAGE_CACHE",
        means: "The devices below the targets moved less than half of what the jobs moved.",
        matters: "The rest came from, or stayed in, memory. The figures are about RAM, not about the device. Holes in files look the same.",
        remedy: "Use direct=1, write the files in full first, or use a region larger than memory.",
    },
    Explanation {
        id: "F020",
        code: "FOREIGN_IO",
        means: "A device moved much more than the jobs asked of it.",
        matters: "Other users slow the device down, and differ from run to run.",
        remedy: "Find them with iotop or iostat, or use an idle device.",
    },
    Explanation {
        id: "F021",
        code: "CPU_THROTTLED",
        means: "The CPU quota of the control group stopped this process during the run.",
        matters: "Each throttle is a pause of up to 100 ms that shows as latency of the device.",
        remedy: "Raise cpu.max of the container or service.",
    },
    Explanation {
        id: "F022",
        code: "STEAL",
        means: "The hypervisor gave CPU time of this machine to others.",
        matters: "Time stolen while I/O completes is counted as latency.",
        remedy: "Use dedicated CPUs, or compare only runs with the same steal.",
    },
    Explanation {
        id: "F023",
        code: "HOST_BUSY",
        means: "Other programs kept the CPUs of this host busy.",
        matters: "Workers that wait for a CPU submit and reap late.",
        remedy: "Stop the other programs or read the figures as a lower bound.",
    },
    Explanation {
        id: "F024",
        code: "WORKER_WAITED",
        means: "A worker was ready to run for a good part of the time but had no CPU (run delay of /proc/thread-self/schedstat).",
        matters: "Completions that wait for a CPU to be reaped count as slow I/O, and submissions come late.",
        remedy: "Leave a CPU to each worker: fewer jobs, fewer other programs, or cpus_allowed.",
    },
    Explanation {
        id: "F025",
        code: "TOOL_BOUND",
        means: "A worker used a whole CPU, or came near to what it can generate on a target that answers at once.",
        matters: "Then the CPU, not the target, sets the rate. With the null engine this is the point of the exercise.",
        remedy: "Use more jobs, larger blocks or a cheaper engine until the rate no longer grows.",
    },
    Explanation {
        id: "F026",
        code: "CLOCK_DRIFT",
        means: "The clock used for measuring ran at another rate than the kernel's.",
        matters: "All times and rates are wrong by that share.",
        remedy: "Use another clock source; see the clock facts in the result.",
    },
    Explanation {
        id: "F027",
        code: "HISTOGRAM_OVERFLOW",
        means: "Latencies above 73 minutes were seen.",
        matters: "They are counted and in mean and maximum, but have no bucket of their own.",
        remedy: "Find out what hung for that long.",
    },
    Explanation {
        id: "F028",
        code: "CLONES_OVERLAP",
        means: "Several clones of a sequential job go through the same addresses.",
        matters: "One of them reads from the medium, the others from a cache that it filled.",
        remedy: "Set offset_increment, or give each clone its own file.",
    },
    Explanation {
        id: "F029",
        code: "JOBS_APART",
        means: "Jobs whose totals are added did not run at the same time.",
        matters: "The sum of rates of jobs that ran one after the other was never reached by anything.",
        remedy: "Start them together, or put them into different groups.",
    },
    Explanation {
        id: "F030",
        code: "NOT_STEADY",
        means: "Throughput differs by more than a fifth between parts of the run.",
        matters: "One average hides the change: caches fill, flash starts to clean up, devices get warm.",
        remedy: "Precondition, warm up and run longer; look at the series.",
    },
    Explanation {
        id: "F031",
        code: "REPEATED_ADDRESSES",
        means: "The region was read at least twice over.",
        matters: "Repeats may come from caches in the device, the controller or memory.",
        remedy: "Use a larger region unless the working set is this small in reality.",
    },
    Explanation {
        id: "F032",
        code: "REQUESTS_RESIZED",
        means: "The device saw more or fewer requests than the jobs sent.",
        matters: "The kernel split or merged them, so sizes and latencies at the device are not those of the job.",
        remedy: "See max_sectors_kb and nomerges in /sys/block/*/queue.",
    },
    Explanation {
        id: "F033",
        code: "VOLATILE_CACHE_NO_FLUSH",
        means: "Writes completed in memory, or in a device's volatile cache, and were never flushed.",
        matters: "They would be lost in a power cut, and their speed is that of memory until the cache is full.",
        remedy: "Add fsync, fdatasync, end_fsync or sync to the job.",
    },
    Explanation {
        id: "F034",
        code: "SOFT_PAYLOAD",
        means: "The data written can be compressed or deduplicated.",
        matters: "Devices and file systems that do so move less than they seem to.",
        remedy: "Use fresh random data for figures of the medium.",
    },
    Explanation {
        id: "F035",
        code: "FEW_SAMPLES",
        means: "A percentile rests on fewer than ten I/Os.",
        matters: "The next run may well show another value.",
        remedy: "Run longer.",
    },
    Explanation {
        id: "F036",
        code: "FIO_BINS_CLAMPED",
        means: "Latencies of 17.2 s and more share the last bin of fio's format.",
        matters: "Percentiles computed from those bins would be too low. The percentiles printed here are not computed from them.",
        remedy: "Read the percentiles and the maximum.",
    },
    Explanation {
        id: "F037",
        code: "ENGINE_FALLBACK",
        means: "The planned engine was not available and another one did the work.",
        matters: "Engines differ in cost and in the queue depth they reach.",
        remedy: "Name the engine in the job file to have an error instead.",
    },
    Explanation {
        id: "F038",
        code: "DIRECT_NOT_DIRECT",
        means: "Direct I/O was asked for, but the file system buffers it or is memory.",
        matters: "The page cache then answers, at the speed of memory, although the job file says direct=1. ext4 with data=journal, btrfs with checksums and tmpfs do this without a word.",
        remedy: "Use another file system or mount option, or the device itself.",
    },
    Explanation {
        id: "F039",
        code: "HOLES_READ",
        means: "Parts of what was read had never been written.",
        matters: "Holes and reserved blocks are answered with zeros by the file system: ten times faster than the medium, and no device is asked.",
        remedy: "Write the file in full first; fallocate is not enough.",
    },
    Explanation {
        id: "F040",
        code: "TARGET_GONE",
        means: "The file was removed, or replaced by another, while it was being used.",
        matters: "The load goes on with a file without a name; whoever looks at that path afterwards looks at something else.",
        remedy: "Find what removes it and run again.",
    },
    Explanation {
        id: "F041",
        code: "LITTLE_DISAGREES",
        means: "Rate times latency is not the number of I/Os that can have been in flight.",
        matters: "Little's law holds for every queue. Above the depth, a figure is wrong; below it, the time between I/Os was spent in this program and not in the target.",
        remedy: "Above: report it. Below: use more jobs or a cheaper engine.",
    },
    Explanation {
        id: "F042",
        code: "RATE_LIMITED",
        means: "I/Os are either fast or stopped for the same time again and again.",
        matters: "That is what rate limiters do: the average is their setting, the median is the device, and the tail is their period.",
        remedy: "Look for QoS limits, burst credits, container limits, or a device that pauses.",
    },
    Explanation {
        id: "F043",
        code: "CEILING_REACHED",
        means: "The rate lies at a limit that is known.",
        matters: "A limit says nothing about what stands behind it.",
        remedy: "Raise the limit, or read the result as the limit's.",
    },
    Explanation {
        id: "F044",
        code: "PERCENTILE_INFLECTION",
        means: "From one percentile to the next the latency at least doubles, before p99.",
        matters: "Two kinds of I/O are mixed: what an average says holds for neither.",
        remedy: "Quote the percentiles on both sides of the step, and look for what the slow ones wait for.",
    },
    Explanation {
        id: "F045",
        code: "SETTINGS_CHANGED",
        means: "A setting of a device's queue changed while the run lasted.",
        matters: "The run has two parts that were measured under different settings.",
        remedy: "Find what changes them and run again.",
    },
    Explanation {
        id: "F046",
        code: "SETTINGS_REDUCED",
        means: "A setting of a device's queue lies below what is usual, or its counters are off.",
        matters: "Settings survive the test that set them. Split requests cost CPU and latency; without counters several checks are blind.",
        remedy: "Set them back in /sys/block/*/queue, or keep them and say so.",
    },
    Explanation {
        id: "F047",
        code: "CACHE_SETTING_DISAGREES",
        means: "The kernel was told that a device's cache is safe, and the device says that it is volatile.",
        matters: "The kernel then sends no flushes: fsync returns at once and protects nothing.",
        remedy: "Set queue/write_cache to \"write back\", or turn off the cache in the device.",
    },
    Explanation {
        id: "F048",
        code: "WORKING_SET_CACHED",
        means: "Buffered reads went to a region that fits into memory.",
        matters: "After the first pass they are answered by the page cache.",
        remedy: "Use direct=1, or a region of at least twice the memory.",
    },
    Explanation {
        id: "F049",
        code: "TOO_HOT",
        means: "Throughput fell while a sensor of the machine became hotter.",
        matters: "Drives and CPUs slow down to cool; a short run does not show it, a long one shows little else.",
        remedy: "Cool it, let it rest before each run.",
    },
    Explanation {
        id: "F050",
        code: "CPU_SLOWED",
        means: "The CPUs ran slower at the end of the run than at its start.",
        matters: "Latencies of microseconds are CPU time to a large part.",
        remedy: "Use the performance governor; look for heat and power limits.",
    },
    Explanation {
        id: "F051",
        code: "MEMORY_PRESSURE",
        means: "All programs of the machine waited for memory for part of the run.",
        matters: "Reclaim and swapping use the same devices and CPUs.",
        remedy: "Free memory, or use a larger machine.",
    },
    Explanation {
        id: "F052",
        code: "WALL_CLOCK_STEPPED",
        means: "The time of day was set during the run.",
        matters: "Nothing that was measured is affected, but times of day in logs are.",
        remedy: "Do not match these times with other logs.",
    },
    Explanation {
        id: "F053",
        code: "FLUSH_UNPROVEN",
        means: "Flushes were acknowledged inside a virtual machine.",
        matters: "Some hosts acknowledge a flush without doing it, and nothing inside can tell.",
        remedy: "Ask for the cache mode of the virtual disk.",
    },
    Explanation {
        id: "F054",
        code: "MEMORY_BACKED",
        means: "The target is memory: tmpfs, a RAM disk or zram.",
        matters: "Its figures are those of the CPU and of RAM.",
        remedy: "Use a device with a medium of its own.",
    },
    Explanation {
        id: "F055",
        code: "LOOP_BUFFERED",
        means: "A loop device below the target goes through the page cache.",
        matters: "Direct I/O ends at the loop device: below it, memory answers.",
        remedy: "Attach it with losetup --direct-io=on.",
    },
    Explanation {
        id: "F056",
        code: "PER_JOB_FIGURES",
        means: "Published figures are those of one of several jobs.",
        matters: "One job's part says little about the device, and multiplying it assumes that all ran alike and at the same time.",
        remedy: "Publish the sum over the time that all ran together.",
    },
    Explanation {
        id: "F057",
        code: "ABOVE_LINK",
        means: "A rate lies above what the link can carry.",
        matters: "Nothing goes faster than its link: averages over different times were added, or a cache answered.",
        remedy: "Add rates only over the time in which all jobs ran.",
    },
    Explanation {
        id: "F058",
        code: "IN_FLIGHT_MISCOUNTED",
        means: "More I/Os are said to have been in flight than jobs times depth.",
        matters: "A mixed job has its reads and writes in one queue; counting both doubles the depth on paper.",
        remedy: "Count jobs times depth, and print rate times latency beside it.",
    },
    Explanation {
        id: "F059",
        code: "LINE_CODING_IGNORED",
        means: "A ceiling was computed from bits on the line.",
        matters: "Line coding costs a fifth (8b/10b) or a sixty-fifth (128b/130b), so the headroom looks larger than it is.",
        remedy: "Take the usable rate of the link.",
    },
    Explanation {
        id: "F060",
        code: "REPLAY_LAG",
        means: "The I/Os of a log that is replayed were handed over later than the log says.",
        matters: "The target saw other arrivals than those recorded. Each I/O is due at its time from the start, so lag does not add up; response times include it.",
        remedy: "Raise iodepth, use an asynchronous engine, or slow the log down with replay_time_scale.",
    },
    Explanation {
        id: "F061",
        code: "REPLAY_CUT",
        means: "The run ended before the whole log was replayed.",
        matters: "The figures describe the first part of the recorded load only.",
        remedy: "Leave runtime out, or raise replay_time_scale so that the log fits into it.",
    },
    Explanation {
        id: "F062",
        code: "HEADROOM_MISJUDGED",
        means: "The share of the links in use is not the one stated.",
        matters: "Headroom that is not there is planned with.",
        remedy: "Compute it from generation, width and number of links.",
    },
    Explanation {
        id: "F063",
        code: "PATTERN_MISNAMED",
        means: "The words say random, the option says sequential, or the other way round.",
        matters: "Both differ by orders of magnitude on disks and by caches on flash.",
        remedy: "Name the pattern in words beside every result.",
    },
    Explanation {
        id: "F064",
        code: "BLOCK_ASSUMED",
        means: "A smallest block size is stated that is not the device's.",
        matters: "Sizes below the physical block are read, changed and written; sizes above it are not the smallest.",
        remedy: "Ask the device.",
    },
    Explanation {
        id: "F065",
        code: "ATTACHMENT_IN_THE_WAY",
        means: "A controller stands between host and drive, or the path is not recorded.",
        matters: "Its cache, its CPU and its ceiling look like the drive's.",
        remedy: "Record the whole path, and repeat on a plain HBA.",
    },
    Explanation {
        id: "F066",
        code: "PART_NUMBER_DISAGREES",
        means: "The part number belongs to another family than the sheet.",
        matters: "Measurements are then compared with promises for another drive.",
        remedy: "Identify drives by part number.",
    },
    Explanation {
        id: "F067",
        code: "SPEC_MISSED",
        means: "A measurement misses, or beats, the vendor's figure by more than a tenth.",
        matters: "One row that agrees says nothing about the others; above the promise is as suspicious as below it.",
        remedy: "Compare row by row under the sheet's own conditions.",
    },
    Explanation {
        id: "F068",
        code: "REPEATS_CACHED",
        means: "Skewed addresses came again so often that caches answered.",
        matters: "It looks like shorter seeks and is a hit ratio that grows with the length of the run.",
        remedy: "Report the share of distinct blocks.",
    },
    Explanation {
        id: "F069",
        code: "STATE_DIFFERS",
        means: "Results of one device contradict each other.",
        matters: "Flash that is asleep, unwritten or worn answers differently.",
        remedy: "Bring it into a known state first, and record it.",
    },
    Explanation {
        id: "F070",
        code: "LOGS_MISLEAD",
        means: "Rows are missing from log files.",
        matters: "fio writes no row where nothing completed, so sums by row number add what did not happen at the same time.",
        remedy: "Add by time, with zeros.",
    },
    Explanation {
        id: "F071",
        code: "NUMBER_MALFORMED",
        means: "A figure could mean more than one number.",
        matters: "80,00 may be 80, 8,000 or 80,000.",
        remedy: "Mend it at its source; it is refused here.",
    },
    Explanation {
        id: "F072",
        code: "PERCENTILES_AVERAGED",
        means: "A percentile of several jobs is not that of their I/Os together.",
        matters: "The mean of percentiles is no percentile: with 19 fast I/Os for each slow one, p99 is a slow one's, whatever the mean says.",
        remedy: "Add the histograms, then take the percentile.",
    },
    Explanation {
        id: "F073",
        code: "HOST_LOST",
        means: "One of several hosts that ran the load gave no figures.",
        matters: "Sums are too low and percentiles are those of the others, and programs end well all the same.",
        remedy: "Run again with all hosts, or state how many the figures are of.",
    },
    Explanation {
        id: "F074",
        code: "TARGET_SHARED",
        means: "Another program had a target of the run open.",
        matters: "A load that was thought to have ended, a second test or a service may have used it at the same time: workers of other load generators go on when their main process is killed.",
        remedy: "End it, or use a target of your own.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CHECKS, DETECTORS};

    #[test]
    fn every_code_is_explained_once_and_no_other() {
        let codes: Vec<_> = DETECTORS.iter().map(|d| d.code).collect();
        let mut explained: Vec<_> = EXPLANATIONS.iter().map(|e| e.code).collect();
        for code in &codes {
            let e = explain(code).unwrap_or_else(|| panic!("{code} has no explanation"));
            assert!(
                [e.means, e.matters, e.remedy]
                    .iter()
                    .all(|text| text.ends_with('.')),
                "{code}"
            );
        }
        explained.sort_unstable();
        explained.dedup();
        assert_eq!(explained.len(), EXPLANATIONS.len(), "a code stands twice");
        // Found in results of others only.
        let mut all: Vec<_> = CHECKS.iter().map(|check| check.code).chain(codes).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(explained, all);
    }

    #[test]
    fn unknown_codes_have_none() {
        assert_eq!(explain("NO_SUCH_CODE"), None);
        assert!(explain("short_io").is_some());
    }
}
