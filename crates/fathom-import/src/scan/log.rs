//! fio's log files: `time_ms, value, direction, block size[, offset[, priority]]`.

use super::error::LogError;

/// Rows of an IOPS log with averaging windows: end of the window in milliseconds, and I/Os per
/// second, for all directions.
///
/// # Errors
/// The first invalid line.
pub fn read_iops_log(text: &str) -> Result<Vec<(u64, f64)>, LogError> {
    let rows = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    rows.map(|(index, line)| {
        row(line).map_err(|why| LogError::Line {
            line: index + 1,
            why,
        })
    })
    .collect()
}

fn row(line: &str) -> Result<(u64, f64), &'static str> {
    let mut columns = line.split(',').map(str::trim);
    let mut next = |why| {
        columns
            .next()
            .and_then(|word| word.parse::<u64>().ok())
            .ok_or(why)
    };
    let time = next("a row begins with the time in milliseconds")?;
    let value = next("the second column is the value, a whole number")?;
    next("the third column is the direction, 0, 1 or 2")?;
    Ok((time, value as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_versions_are_read() {
        let text = "250, 48, 0, 0\n500, 136, 1, 4096, 0, 0x0004\n\n";
        assert_eq!(read_iops_log(text), Ok(vec![(250, 48.0), (500, 136.0)]));
        assert_eq!(read_iops_log(""), Ok(Vec::new()));
    }

    #[test]
    fn invalid_rows_are_refused_with_their_line() {
        for text in ["250, 48, 0, 0\nx, 1, 0, 0", "250, 48, 0, 0\n1"] {
            assert!(
                matches!(read_iops_log(text), Err(LogError::Line { line: 2, .. })),
                "{text}"
            );
        }
    }
}
