//! Lists of CPUs, CPU masks, and lists of errno values.

use super::context::{ParseContext, ValueError};
use super::lists::single;
use super::number::number;
use super::unit::Unit;

/// Maximum number of CPUs that Linux can be built for.
const MAX_CPUS: u32 = 8192;

/// CPU numbers from `0,2-5`, in ascending order, each once.
///
/// # Errors
/// When an entry is not a number, or the host has no such CPU.
pub(crate) fn cpus(text: &str, context: &ParseContext) -> Result<Vec<u32>, ValueError> {
    let mut cpus = Vec::new();
    for entry in text
        .trim()
        .split(',')
        .filter(|entry| !entry.trim().is_empty())
    {
        let (low, high) = entry.split_once('-').unwrap_or((entry, entry));
        let (low, high) = (cpu(low, context)?, cpu(high, context)?);
        if low > high {
            return Err(ValueError::new(format!("the range '{entry}' is reversed")));
        }
        cpus.extend(low..=high);
    }
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() {
        Err(ValueError::new("the list of CPUs is empty"))
    } else {
        Ok(cpus)
    }
}

fn cpu(text: &str, context: &ParseContext) -> Result<u32, ValueError> {
    let cpu: u32 = text
        .trim()
        .parse()
        .map_err(|_| ValueError::new(format!("invalid CPU number '{}'", text.trim())))?;
    let limit = context.cpus.min(MAX_CPUS);
    if cpu < limit {
        return Ok(cpu);
    }
    Err(
        ValueError::new(format!("CPU {cpu} does not exist")).advise(format!(
            "the host has CPUs 0 to {}",
            limit.saturating_sub(1)
        )),
    )
}

/// CPU numbers from the bits of a mask.
///
/// # Errors
/// When a bit is set for a CPU that the host does not have.
pub(crate) fn mask(text: &str, context: &mut ParseContext) -> Result<Vec<u32>, ValueError> {
    single(text, context)?;
    let mask = number(text, Unit::Count, context)?;
    let bits = u32::try_from(mask).map_err(|_| {
        ValueError::new(format!("'{text}' is not a mask of 32 bits")).advise("use cpus_allowed")
    })?;
    let cpus: Vec<u32> = (0..32).filter(|bit| bits & (1 << bit) != 0).collect();
    for at in &cpus {
        cpu(&at.to_string(), context)?;
    }
    Ok(cpus)
}

/// errno values for reads, writes and verification, from `EIO:5,ENOSPC`; `None` is a list that was left out.
///
/// # Errors
/// When a name is unknown, or there are more than three lists.
pub(crate) fn errors(text: &str) -> Result<[Option<Vec<i32>>; 3], ValueError> {
    let lists: Vec<&str> = text.trim().split(',').collect();
    if lists.len() > 3 {
        return Err(
            ValueError::new(format!("'{text}' has {} lists", lists.len()))
                .advise("at most read,write,verify"),
        );
    }
    let mut values = [None, None, None];
    for (slot, list) in values.iter_mut().zip(lists) {
        let errors: Result<Vec<i32>, ValueError> = list
            .split(':')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(error)
            .collect();
        *slot = Some(errors?).filter(|errors| !errors.is_empty());
    }
    Ok(values)
}

fn error(name: &str) -> Result<i32, ValueError> {
    let number = match name.strip_prefix("0x").or_else(|| name.strip_prefix("0X")) {
        Some(hex) => i32::from_str_radix(hex, 16).ok(),
        None => name.parse::<i32>().ok().and_then(i32::checked_abs),
    };
    let value = number.or_else(|| {
        ERRORS
            .iter()
            .find(|known| known.0 == name)
            .map(|known| known.1)
    });
    value
        .filter(|value| (1..4096).contains(value))
        .ok_or_else(|| {
            ValueError::new(format!("unknown errno '{name}'"))
                .advise("use a name such as EIO, or a number")
        })
}

/// The errno values that an I/O can fail with on Linux; errno(3).
const ERRORS: &[(&str, i32)] = &[
    ("EPERM", 1),
    ("ENOENT", 2),
    ("ESRCH", 3),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("ENOEXEC", 8),
    ("EBADF", 9),
    ("ECHILD", 10),
    ("EAGAIN", 11),
    ("EWOULDBLOCK", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("ENOTBLK", 15),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOTTY", 25),
    ("ETXTBSY", 26),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EROFS", 30),
    ("EMLINK", 31),
    ("EPIPE", 32),
    ("EDOM", 33),
    ("ERANGE", 34),
    ("EDEADLK", 35),
    ("EDEADLOCK", 35),
    ("ENAMETOOLONG", 36),
    ("ENOLCK", 37),
    ("ENOSYS", 38),
    ("ENOTEMPTY", 39),
    ("ELOOP", 40),
    ("ENOMSG", 42),
    ("EIDRM", 43),
    ("EL2NSYNC", 45),
    ("EBADE", 52),
    ("ENODATA", 61),
    ("ETIME", 62),
    ("ENOLINK", 67),
    ("ECOMM", 70),
    ("EPROTO", 71),
    ("EBADMSG", 74),
    ("EOVERFLOW", 75),
    ("EILSEQ", 84),
    ("EREMCHG", 78),
    ("EOPNOTSUPP", 95),
    ("ENOTSUP", 95),
    ("ENOBUFS", 105),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
    ("EHOSTDOWN", 112),
    ("EHOSTUNREACH", 113),
    ("EALREADY", 114),
    ("EINPROGRESS", 115),
    ("ESTALE", 116),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
    ("ENOMEDIUM", 123),
    ("EMEDIUMTYPE", 124),
    ("ECANCELED", 125),
    ("EHWPOISON", 133),
];

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality::Fathom;

    #[test]
    fn cpus_are_listed_once_and_must_exist() {
        let context = ParseContext::new(Fathom, 8);
        assert_eq!(cpus("0,2-5", &context), Ok(vec![0, 2, 3, 4, 5]));
        assert_eq!(cpus("3,1-3", &context), Ok(vec![1, 2, 3]));
        for text in ["8", "0-9", "5-2", "a", "", "0-4294967295"] {
            assert!(cpus(text, &context).is_err(), "{text}");
        }
        assert_eq!(
            mask("0x5", &mut ParseContext::new(Fathom, 8)),
            Ok(vec![0, 2])
        );
        assert!(mask("0x100", &mut ParseContext::new(Fathom, 8)).is_err());
    }

    #[test]
    fn errors_have_names_numbers_and_directions() {
        assert_eq!(
            errors("EAGAIN,ENOSPC:122"),
            Ok([Some(vec![11]), Some(vec![28, 122]), None])
        );
        assert_eq!(errors(",ENOSPC:EIO"), Ok([None, Some(vec![28, 5]), None]));
        assert_eq!(errors("0x05"), Ok([Some(vec![5]), None, None]));
        assert!(
            errors("EFOO").is_err() && errors("a,b,c,d").is_err() && errors("-2147483648").is_err()
        );
    }
}
