//! Options: private to the engines of the local kernel.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    HIPRI: Switch = flag("hipri", "Polled completions").engines(&["io_uring", "io_uring_cmd", "libblkio", "sg", "pvsync2", "xnvme"]);
    HIPRI_PERCENTAGE: Number = number("hipri_percentage", Percent, "Percentage of I/Os with polled completions").default("100").max(100).engines(&["pvsync2"]).refused("use hipri alone");
    FIXEDBUFS: Switch = flag("fixedbufs", "Register the buffers with the kernel").engines(&["io_uring", "io_uring_cmd"]);
    REGISTERFILES: Switch = flag("registerfiles", "Register the files with the kernel").engines(&["io_uring", "io_uring_cmd"]);
    SQTHREAD_POLL: Switch = flag("sqthread_poll", "A kernel thread polls for submissions").engines(&["io_uring", "io_uring_cmd", "xnvme"]);
    SQTHREAD_POLL_CPU: Number = number("sqthread_poll_cpu", Count, "CPU of the polling kernel thread").engines(&["io_uring", "io_uring_cmd"]);
    NONVECTORED: Signed = signed("nonvectored", Count, "Plain reads and writes instead of vectored ones").default("-1").min(-1).engines(&["io_uring", "io_uring_cmd"]);
    UNCACHED: Number = number("uncached", Count, "Drop pages from the cache after the I/O").engines(&["io_uring", "io_uring_cmd", "pvsync2"]);
    NOWAIT: Switch = boolean("nowait", "Fail instead of blocking (RWF_NOWAIT)").engines(&["io_uring", "io_uring_cmd", "libaio", "pvsync2"]);
    FORCE_ASYNC: Number = number("force_async", Count, "Send every Nth I/O directly to a kernel worker").engines(&["io_uring", "io_uring_cmd"]);
    USERSPACE_REAP: Switch = flag("userspace_reap", "Reap completions from the ring without a system call").engines(&["libaio"]);
    LIBAIO_VECTORED: Switch = boolean("libaio_vectored", "Vectored reads and writes").engines(&["libaio"]).no_effect("with one buffer per I/O there is no difference");
    THP: Number = number("thp", Count, "Transparent huge pages for the mapping").engines(&["mmap"]).no_effect("the setting of the kernel applies");
    STAT_TYPE: Choice = choice("stat_type", &["stat", "lstat", "statx"], "The stat call to use").default("stat").engines(&["filestat", "dirstat"]);
    CMDPRIO_PERCENTAGE: Three = three("cmdprio_percentage", Percent, "Percentage of I/Os with high priority").max(100).engines(&["libaio", "io_uring", "io_uring_cmd"]);
    CMDPRIO_CLASS: Three = three("cmdprio_class", Count, "Priority class of the I/Os that cmdprio_percentage selects").min(1).max(3).engines(&["libaio", "io_uring", "io_uring_cmd"]);
    CMDPRIO_HINT: Three = three("cmdprio_hint", Count, "Priority hint of the I/Os that cmdprio_percentage selects").max(1023).engines(&["libaio", "io_uring", "io_uring_cmd"]);
    CMDPRIO: Three = three("cmdprio", Count, "Priority level of the I/Os that cmdprio_percentage selects").max(7).engines(&["libaio", "io_uring", "io_uring_cmd"]);
    CMDPRIO_BSSPLIT: PrioritySplit = priority_split("cmdprio_bssplit", "Priorities by block size").engines(&["libaio", "io_uring", "io_uring_cmd"]);
    CPULOAD: Number = number("cpuload", Count, "CPU load in percent").max(100).engines(&["cpuio"]);
    CPUMODE: Choice = choice("cpumode", &["noop", "qsort"], "Kind of CPU load: a busy loop or sorting").default("noop").engines(&["cpuio"]);
    CPUCHUNKS: Number = number("cpuchunks", Count, "Duration of a busy period in microseconds").default("50000").min(1).engines(&["cpuio"]);
    EXIT_ON_IO_DONE: Switch = boolean("exit_on_io_done", "End with the last job that does I/O").default("0").engines(&["cpuio"]);
    PROGRAM: Text = text("program", "Program to run during the load").engines(&["exec"]);
    ARGUMENTS: Text = text("arguments", "Arguments of the program; %r is the runtime in seconds, %n the name of the job").engines(&["exec"]);
    GRACE_TIME: Number = number("grace_time", Count, "Seconds to wait for the program to end after SIGTERM").default("1").min(0).engines(&["exec"]);
    STD_REDIRECT: Switch = boolean("std_redirect", "Redirect the output of the program to JOB.stdout and JOB.stderr").default("1").engines(&["exec"]);
    READFUA: Switch = boolean("readfua", "Reads with force unit access").default("0").engines(&["io_uring", "io_uring_cmd", "sg"]).refused("leave it out; it belongs to pass-through engines");
    WRITEFUA: Switch = boolean("writefua", "Writes with force unit access").default("0").engines(&["io_uring", "io_uring_cmd", "sg"]).refused("use sync=dsync");
    WRITE_MODE: Text = text("write_mode", "Which command a write becomes").default("write").engines(&["io_uring", "io_uring_cmd"]).refused("leave it out; it belongs to pass-through engines");
    VERIFY_MODE: Choice = choice("verify_mode", &["read", "compare"], "Which command a verify becomes").default("read").engines(&["io_uring", "io_uring_cmd"]).refused("leave it out; it belongs to pass-through engines");
    READ_MODE: Choice = choice("read_mode", &["read", "prefetch"], "Which command a read becomes").default("read").engines(&["io_uring", "io_uring_cmd"]).refused("leave it out; it belongs to pass-through engines");
    CMD_TYPE: Choice = choice("cmd_type", &["nvme", "bsg"], "Kind of pass-through command").default("nvme").engines(&["io_uring", "io_uring_cmd"]).refused("use ioengine=io_uring");
    CDB_LEN: Choice = choice("cdb_len", &["0", "10", "16", "32"], "Length of a SCSI command").default("0").engines(&["io_uring", "io_uring_cmd"]).refused("leave it out; it belongs to pass-through engines");
    VERIFY_BYTCHK: Choice = choice("verify_bytchk", &["0", "1", "3"], "BYTCHK field of a SCSI verify").default("0").engines(&["io_uring", "io_uring_cmd"]).refused("leave it out; it belongs to pass-through engines");
    MD_PER_IO_SIZE: Number = number("md_per_io_size", Count, "Metadata buffer per I/O").default("0").engines(&["io_uring", "io_uring_cmd", "xnvme"]).refused("leave it out; it belongs to pass-through engines");
    PI_ACT: Switch = boolean("pi_act", "Protection information action").default("1").engines(&["io_uring", "io_uring_cmd", "xnvme"]).refused("leave it out; it belongs to pass-through engines");
    PI_CHK: Text = text("pi_chk", "Protection information checks").engines(&["io_uring", "io_uring_cmd", "xnvme"]).refused("leave it out; it belongs to pass-through engines");
    APPTAG: Number = number("apptag", Count, "Application tag").default("0x1234").engines(&["io_uring", "io_uring_cmd", "xnvme"]).refused("leave it out; it belongs to pass-through engines");
    APPTAG_MASK: Number = number("apptag_mask", Count, "Mask of the application tag").default("0xffff").engines(&["io_uring", "io_uring_cmd", "xnvme"]).refused("leave it out; it belongs to pass-through engines");
    DEAC: Switch = boolean("deac", "Deallocate with write zeroes").default("0").engines(&["io_uring", "io_uring_cmd"]).refused("leave it out; it belongs to pass-through engines");
    SG_WRITE_MODE: Choice = choice("sg_write_mode", &["write", "write_and_verify", "verify", "write_same", "same", "write_same_ndob", "verify_bytchk_00", "verify_bytchk_01", "verify_bytchk_11", "write_stream"], "Which SCSI command a write becomes").default("write").engines(&["sg"]).refused("leave it out; it belongs to pass-through engines");
    STREAM_ID: Number = number("stream_id", Count, "Stream of SCSI write stream").default("0").engines(&["sg"]).refused("leave it out; it belongs to pass-through engines");
    POOL: Text = text("pool", "Storage pool").engines(&["dfs", "rados", "rbd"]);
    CLUSTERNAME: Text = text("clustername", "Ceph cluster").engines(&["rados", "rbd"]);
    CLIENTNAME: Text = text("clientname", "Ceph client").engines(&["rados", "rbd"]);
    BUSY_POLL: Switch = boolean("busy_poll", "Poll Ceph completions").default("0").engines(&["rados", "rbd"]);
    RBDNAME: Text = text("rbdname", "RBD image").engines(&["rbd"]);
}
