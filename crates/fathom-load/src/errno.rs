//! Errno values that the load loop reports or recognises.

pub(crate) const ENOENT: i32 = 2;
pub(crate) const EIO: i32 = 5;
pub(crate) const EAGAIN: i32 = 11;
pub(crate) const EINVAL: i32 = 22;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EILSEQ: i32 = 84;
pub(crate) const ETIMEDOUT: i32 = 110;
pub(crate) const EDQUOT: i32 = 122;
