//! The order of the cells of a grid: corners first, then the middle, then the values between, so that an interrupted sweep
//! covers the whole grid coarsely instead of a part of it finely.

/// Number of values of an axis, and whether they are ordered. Unordered values (patterns, engines, devices) are all
/// covered from the start.
pub type Extent = (usize, bool);

/// All positions of a grid, coarse ones first.
#[must_use]
pub fn coarse_first(shape: &[Extent]) -> Vec<Vec<usize>> {
    let levels: Vec<Vec<u32>> = shape.iter().map(|extent| levels(*extent)).collect();
    let mut places = vec![Vec::new()];
    for level in &levels {
        places = places
            .iter()
            .flat_map(|place: &Vec<usize>| {
                (0..level.len()).map(|at| [place.as_slice(), &[at]].concat())
            })
            .collect();
    }
    places.sort_by_cached_key(|place| {
        let at = |axis: usize| levels[axis][place[axis]];
        let coarsest = (0..place.len()).map(at).max().unwrap_or(0);
        // Among equally fine positions, the middle of most axes comes first.
        let others = (0..place.len())
            .filter(|axis| at(*axis) != coarsest)
            .count();
        (coarsest, others, place.clone())
    });
    places
}

/// Both ends have level 0; the middle between two known values is one level finer.
fn levels((length, ordered): Extent) -> Vec<u32> {
    let mut levels = vec![0; length];
    if !ordered || length < 3 {
        return levels;
    }
    let mut gaps = vec![(0, length - 1)];
    let mut level = 0;
    while !gaps.is_empty() {
        level += 1;
        let halves = gaps
            .iter()
            .filter(|(low, high)| high - low > 1)
            .flat_map(|(low, high)| {
                let middle = low.midpoint(*high);
                levels[middle] = level;
                [(*low, middle), (middle, *high)]
            });
        gaps = halves.collect();
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_then_the_middle_then_the_quarters() {
        assert_eq!(levels((7, true)), [0, 2, 3, 1, 2, 3, 0]);
        let line: Vec<usize> = coarse_first(&[(9, true)])
            .into_iter()
            .map(|place| place[0])
            .collect();
        assert_eq!(line, [0, 8, 4, 2, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn a_grid_begins_with_its_corners_and_its_centre() {
        let order = coarse_first(&[(5, true), (5, true)]);
        assert_eq!(
            order[..5],
            [vec![0, 0], vec![0, 4], vec![4, 0], vec![4, 4], vec![2, 2]]
        );
        assert_eq!(order.len(), 25);
        let mut all = order.clone();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 25, "each place once");
    }

    #[test]
    fn unordered_values_are_all_covered_before_refinement() {
        let order = coarse_first(&[(3, false), (5, true)]);
        let early: Vec<&Vec<usize>> = order[..6].iter().collect();
        assert!(
            (0..3).all(|kind| early.iter().filter(|place| place[0] == kind).count() == 2),
            "{early:?}"
        );
    }

    /// After any number of cells, no value is farther from a measured one than the gaps of that level.
    #[test]
    fn an_interrupted_sweep_covers_the_whole_range() {
        let order = coarse_first(&[(65, true)]);
        for measured in [2_usize, 3, 5, 9, 17, 33] {
            let mut seen: Vec<usize> = order[..measured].iter().map(|place| place[0]).collect();
            seen.sort_unstable();
            let widest = seen
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .max()
                .expect("two");
            assert_eq!(widest, 64 / (measured - 1), "{seen:?}");
        }
    }

    #[test]
    fn no_axis_is_one_cell() {
        assert_eq!(coarse_first(&[]), [Vec::<usize>::new()]);
    }
}
