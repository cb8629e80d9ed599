//! Offset of local time from UTC, for the dates that fio prints.
#![allow(unsafe_code)]

/// Current local time minus UTC in seconds. See localtime_r(3).
#[must_use]
pub fn utc_offset_s() -> i32 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let now = libc::time_t::try_from(now).unwrap_or(0);
    // SAFETY: all-zero bytes are a valid `tm`: numbers and a null pointer.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the right type.
    let filled = unsafe { libc::localtime_r(&now, &mut local) };
    if filled.is_null() {
        0
    } else {
        local.tm_gmtoff as i32
    }
}
