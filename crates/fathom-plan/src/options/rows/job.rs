//! Options: jobs, their order, their process and their errors.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    NAME: Text = text("name", "Name of the job in reports and log files");
    DESCRIPTION: Text = text("description", "Description, stored with the result");
    GROUP_REPORTING: Switch = flag("group_reporting", "Report all jobs of a group as one");
    NEW_GROUP: Switch = flag("new_group", "Begin a new reporting group");
    STONEWALL: Switch = flag("stonewall", "Wait for all earlier jobs; begin a new reporting group").alias("wait_for_previous");
    WAIT_FOR: Text = text("wait_for", "Wait until this earlier job has ended");
    NUMJOBS: Number = number("numjobs", Count, "Number of parallel clones of this job").default("1").min(1);
    THREAD: Switch = flag("thread", "Run clones as threads").default("1").no_effect("every clone is a thread");
    STARTDELAY: Pair = pair("startdelay", Seconds, "Delay before the first I/O").default("0");
    EXITALL: Switch = flag("exitall", "End other jobs when this one ends");
    EXIT_WHAT: Choice = choice("exit_what", &["group", "stonewall", "all"], "Which jobs exitall ends").default("group");
    EXITALL_ON_ERROR: Switch = flag("exitall_on_error", "End other jobs when this one fails");
    CONTINUE_ON_ERROR: Choice = choice("continue_on_error", &["none", "read", "write", "io", "verify", "all", "0", "1"], "Kinds of errors after which the job continues").default("none");
    IGNORE_ERROR: Errors = errors("ignore_error", "errno values per direction that are not failures");
    ERROR_DUMP: Switch = boolean("error_dump", "Print ignored errors").default("0").no_effect("errors are always counted and listed in the result");
    MAX_LATENCY: Three = three("max_latency", Micros, "Fail the job when an I/O takes longer");
    COMM: Text = text("comm", "Name of the worker thread");
    NICE: Signed = signed("nice", Count, "Scheduling niceness of the worker").default("0").min(-20).max(19);
    PRIO: Number = number("prio", Count, "I/O priority level").max(7);
    PRIOCLASS: Number = number("prioclass", Count, "I/O priority class").max(3);
    PRIOHINT: Number = number("priohint", Count, "I/O priority hint").max(1023);
    CPUMASK: Cpus = cpu_mask("cpumask", "CPUs the worker may use, as a bit mask");
    CPUS_ALLOWED: Cpus = cpus("cpus_allowed", "CPUs the worker may use, as a list");
    CPUS_ALLOWED_POLICY: Choice = choice("cpus_allowed_policy", &["shared", "split"], "Whether clones share the CPUs or use one each").default("shared");
    NUMA_CPU_NODES: Text = text("numa_cpu_nodes", "NUMA nodes whose CPUs are used");
    NUMA_MEM_POLICY: Text = text("numa_mem_policy", "NUMA memory policy");
    CGROUP: Text = text("cgroup", "Control group of the job").refused("jobs are threads, but control groups limit whole processes: start fathom in the group, for example with systemd-run --scope --slice=");
    CGROUP_NODELETE: Switch = boolean("cgroup_nodelete", "Keep the control group afterwards").default("0").no_effect("it only applies with cgroup");
    CGROUP_WEIGHT: Number = number("cgroup_weight", Count, "Block weight of the control group").min(100).max(1000).refused("jobs are threads, but weights apply to whole processes: start one fathom for each weight, with systemd-run --scope -p IOWeight=");
    UID: Number = number("uid", Count, "Open the files and do the I/O as this user");
    GID: Number = number("gid", Count, "Open the files and do the I/O as this group");
    EXEC_PRERUN: Text = text("exec_prerun", "Shell command before the job");
    EXEC_POSTRUN: Text = text("exec_postrun", "Shell command after the job");
    IOSCHEDULER: Text = text("ioscheduler", "I/O scheduler of the device, restored after the run");
    PROFILE: Text = text("profile", "Built-in set of jobs").refused("write the jobs of the profile as a job file");
    LOCKMEM: Number = number("lockmem", Bytes, "Memory to lock (mlock), so that other processes cannot use it").default("0");
    KB_BASE: Choice = choice("kb_base", &["1024", "1000"], "Value of k: 1024 or 1000").default("1024");
    UNIT_BASE: Choice = choice("unit_base", &["0", "8", "1"], "Bits or bytes in the text report").no_effect("the text report states a unit with every number");
    FLOW: Number = number("flow", Count, "Weight of this job within its flow").default("0").max(1000);
    FLOW_ID: Number = number("flow_id", Count, "Identifier of the flow").default("0");
    FLOW_SLEEP: Number = number("flow_sleep", Count, "Microseconds that a job waits when it is ahead of its flow").default("0");
    FLOW_WATERMARK: Removed = removed("flow_watermark", "Former limit of flow").no_effect("fio ignores it too");
    STEADYSTATE: ChoiceWith = choice_with("steadystate", &["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"], "End the job when this measure reaches a steady state").alias("ss").default("iops_slope:0.01%");
    STEADYSTATE_DURATION: Number = number("steadystate_duration", Seconds, "Window of the steady state rule").alias("ss_dur").default("0");
    STEADYSTATE_RAMP_TIME: Number = number("steadystate_ramp_time", Seconds, "Ramp time before the steady state rule").alias("ss_ramp").default("0");
    STEADYSTATE_CHECK_INTERVAL: Number = number("steadystate_check_interval", Seconds, "Interval between steady state samples").alias("ss_interval").default("1");
    GPU_DEV_ID: Number = number("gpu_dev_id", Count, "GPU of device memory").default("0").no_effect("it only applies with mem=cudamalloc");
}
