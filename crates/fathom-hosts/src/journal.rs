//! What a host recorded while the load ran: intervals that the controller keeps in case the host vanishes.

use fathom_model::Interval;

/// New intervals of jobs, each with the place of its job in the plan.
#[must_use]
pub fn write_intervals(new: &[(usize, Vec<Interval>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (job, intervals) in new {
        let mut packed = Vec::new();
        intervals
            .iter()
            .for_each(|interval| interval.encode(&mut packed));
        bytes.extend_from_slice(&(*job as u32).to_le_bytes());
        bytes.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&packed);
    }
    bytes
}

/// The intervals of each of `jobs` jobs, from the parts in their order. An interval that starts when the one before does
/// replaces it: that was its first part. A malformed part ends them.
#[must_use]
pub fn read_intervals<'a>(
    jobs: usize,
    parts: impl Iterator<Item = &'a [u8]>,
) -> Vec<Vec<Interval>> {
    let mut all = vec![Vec::new(); jobs];
    for part in parts {
        if read_part(&mut all, part).is_none() {
            break;
        }
    }
    all
}

fn read_part(all: &mut [Vec<Interval>], mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        let (job, rest) = bytes.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (mut packed, rest) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        let intervals = all.get_mut(u32::from_le_bytes(*job) as usize)?;
        while !packed.is_empty() {
            let interval = Interval::decode(&mut packed)?;
            if intervals
                .last()
                .is_some_and(|last: &Interval| last.start == interval.start)
            {
                intervals.pop();
            }
            intervals.push(interval);
        }
        bytes = rest;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Nanos;

    fn interval(start: u64, length: u64) -> Interval {
        Interval {
            start: Nanos::new(start),
            length: Nanos::new(length),
            ..Interval::default()
        }
    }

    /// The second part completes the interval at 10; what is cut or names a job that does not exist is left out.
    #[test]
    fn the_last_state_of_each_interval_counts() {
        let first = write_intervals(&[(1, vec![interval(0, 10), interval(10, 3)])]);
        let second = write_intervals(&[(1, vec![interval(10, 10)]), (0, vec![interval(5, 5)])]);
        let read = |parts: &[&[u8]]| read_intervals(2, parts.iter().copied());
        let starts = |intervals: &[Interval]| -> Vec<(u64, u64)> {
            intervals
                .iter()
                .map(|one| (one.start.get(), one.length.get()))
                .collect()
        };
        let all = read(&[&first, &second]);
        assert_eq!(starts(&all[1]), [(0, 10), (10, 10)]);
        assert_eq!(starts(&all[0]), [(5, 5)]);
        let cut = read(&[&first, &second[..second.len() - 1]]);
        assert_eq!(starts(&cut[1]), [(0, 10), (10, 10)]);
        assert!(cut[0].is_empty());
        let foreign = write_intervals(&[(7, vec![interval(0, 1)])]);
        assert!(read(&[&foreign, &first]).iter().all(Vec::is_empty));
    }
}
