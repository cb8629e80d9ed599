//! Dates of the Gregorian calendar.

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// As ctime(3) writes it: `Sat Nov 21 02:47:53 2026`.
///
/// `unix_s` counts seconds since 1970; the time zone is `utc_offset_s` ahead of UTC.
#[must_use]
pub fn ctime(unix_s: u64, utc_offset_s: i32) -> String {
    let local = unix_s.saturating_add_signed(i64::from(utc_offset_s));
    let (days, second) = (local / 86_400, local % 86_400);
    let (year, month, day) = civil(days);
    let clock = format!(
        "{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    );
    format!(
        "{} {} {day:2} {clock} {year}",
        WEEKDAYS[(days % 7) as usize],
        MONTHS[month]
    )
}

/// `2026-11-21 02:47`, of the same arguments as [`ctime`].
#[must_use]
pub fn date_minute(unix_s: u64, utc_offset_s: i32) -> String {
    let local = unix_s.saturating_add_signed(i64::from(utc_offset_s));
    let (year, month, day) = civil(local / 86_400);
    format!(
        "{year}-{:02}-{day:02} {:02}:{:02}",
        month + 1,
        local / 3600 % 24,
        local / 60 % 60
    )
}

/// When a result was made, in UTC: `2026-11-21 02:47 UTC`. Empty before 2005, the year of fio's first release: such a time is
/// counted from the start of a job, as in logs without an epoch.
#[must_use]
pub fn date_of_result(unix_s: u64) -> String {
    const YEAR_2005: u64 = 1_104_537_600;
    if unix_s < YEAR_2005 {
        String::new()
    } else {
        date_minute(unix_s, 0) + " UTC"
    }
}

/// `2026-11-21`, in UTC.
#[must_use]
pub fn date(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s / 86_400);
    format!("{year}-{:02}-{day:02}", month + 1)
}

/// Year, month (from 0) and day (from 1) of a day counted from 1970-01-01, Gregorian.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970 + days / DAYS_IN_400_YEARS * 400;
    days %= DAYS_IN_400_YEARS;
    while days >= year_days(year) {
        days -= year_days(year);
        year += 1;
    }
    let mut month = 0;
    while days >= month_days(year, month) {
        days -= month_days(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

const DAYS_IN_400_YEARS: u64 = 146_097;

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_days(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn month_days(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date_1() {
        // `TZ=UTC date -d @N '+%a %b %e %H:%M:%S %Y'`
        assert_eq!(ctime(0, 0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime(951_782_399, 0), "Mon Feb 28 23:59:59 2000");
        assert_eq!(ctime(951_782_400, 0), "Tue Feb 29 00:00:00 2000");
        assert_eq!(ctime(1_795_229_273, 0), "Sat Nov 21 02:47:53 2026");
        assert_eq!(date_minute(1_795_229_273, 3600), "2026-11-21 03:47");
        assert_eq!(ctime(4_107_542_400, 0), "Mon Mar  1 00:00:00 2100");
        assert_eq!(ctime(3_600, -7_200), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime(1_795_229_273, 19_800), "Sat Nov 21 08:17:53 2026");
    }
    /// Regression 0941: the report of logs that count from the start of the job was dated "1970-01-01 03:17 UTC".
    #[test]
    fn a_time_since_the_start_of_a_job_is_not_a_date() {
        assert_eq!(date_of_result(3 * 3600 + 17 * 60), "");
        // date -u -d @1104537600: 1 January 2005.
        assert_eq!(date_of_result(1_104_537_599), "");
        assert_eq!(date_of_result(1_104_537_600), "2005-01-01 00:00 UTC");
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(date(0), "1970-01-01");
        // date -u -d @951782400: 29 February 2000.
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_767_225_600), "2026-01-01");
    }
}
