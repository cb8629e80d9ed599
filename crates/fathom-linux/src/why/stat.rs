//! The fields of `/proc/PID/stat` that are used. See proc_pid_stat(5).

/// A thread of the kernel (`PF_KTHREAD` of `include/linux/sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) name: String,
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) is_kernel: bool,
    pub(super) major_faults: u64,
    pub(super) threads: u64,
    /// Time that it waited for block I/O, clock ticks; 0 where the kernel does not count it.
    pub(super) delay: u64,
}

impl Stat {
    /// A name can have spaces and brackets; the last bracket ends it.
    pub(super) fn parse(text: &str) -> Option<Stat> {
        let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The state is field 3.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Stat {
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(number(4)?).ok()?,
            is_kernel: number(9)? & KERNEL_THREAD != 0,
            major_faults: number(12)?,
            threads: number(20)?,
            delay: number(42).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each field has its number in proc_pid_stat(5), but for the flags.
    #[test]
    fn fields_are_those_of_the_manual_page() {
        let fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let mut stat = Stat {
            name: "a ) (b".to_owned(),
            state: 'D',
            parent: 4,
            is_kernel: false,
            major_faults: 12,
            threads: 20,
            delay: 42,
        };
        let text = format!("7 (a ) (b) D {}", fields.join(" "));
        assert_eq!(Stat::parse(&text), Some(stat.clone()));
        let kernel = text.replace(" 9 ", " 2129984 ");
        stat.is_kernel = true;
        assert_eq!(Stat::parse(&kernel), Some(stat));
        assert_eq!(Stat::parse("7 (a) D 4"), None);
    }
}
