//! Recognises the data that fio and fathom write when a job does not choose it.
//!
//! The guard uses it for `--destroy-all-in`: a file that holds only such data holds nobody's data.
//! The generators are checked word by word, so that other data without structure (archives,
//! encrypted files) does not match.

/// Bytes that are checked together: both programs mark each of them.
const SECTOR: usize = 512;
const WORDS: usize = SECTOR / 8;
/// The multiplier of fio's generator (`GOLDEN_RATIO_64`).
const FIO_MULTIPLIER: u64 = 0x61C8_8646_80B5_83EB;
/// Numbers of interleaved sequences that fio is built with; four by default.
const FIO_SEQUENCES: [usize; 5] = [4, 1, 2, 8, 16];
/// The constants of splitmix64 (G. Steele, D. Lea, C. Flood, 2014).
const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
const FIRST: u64 = 0xBF58_476D_1CE4_E5B9;
const SECOND: u64 = 0x94D0_49BB_1331_11EB;

/// Whether every sector of `data` is zero, or was filled by fio or fathom.
#[must_use]
pub fn is_benchmark_fill(data: &[u8]) -> bool {
    let sectors: Vec<Vec<u64>> = data
        .chunks(SECTOR)
        .map(|sector| {
            let words = sector.chunks(8).map(|word| {
                let mut bytes = [0; 8];
                bytes[..word.len()].copy_from_slice(word);
                u64::from_le_bytes(bytes)
            });
            words.collect()
        })
        .collect();
    (0..sectors.len()).all(|at| {
        let words = &sectors[at];
        words.iter().all(|&word| word == 0)
            || words.len() == WORDS
                && (is_fio_fill(words) || is_layout_fill(words) || is_marked(&sectors, at))
    })
}

/// fio fills a buffer with geometric sequences, and then changes three words of each sector. A
/// verification header covers up to 13 words.
fn is_fio_fill(words: &[u64]) -> bool {
    FIO_SEQUENCES.iter().any(|&apart| {
        let pairs = words.iter().zip(&words[apart..]);
        let pairs = pairs.filter(|&(&first, &second)| first != 0 || second != 0);
        let (mut all, mut matching) = (0, 0);
        for (first, second) in pairs {
            all += 1;
            matching += usize::from(*second == first.wrapping_mul(FIO_MULTIPLIER));
        }
        matching >= 8 && matching * 2 >= all
    })
}

/// The layout of fathom is a sequence of splitmix64.
fn is_layout_fill(words: &[u64]) -> bool {
    words
        .windows(2)
        .all(|pair| unmix(pair[1]).wrapping_sub(unmix(pair[0])) == INCREMENT)
}

/// A job of fathom writes one mark twice into each sector; the marks of one write are consecutive
/// numbers, scattered by splitmix64.
fn is_marked(sectors: &[Vec<u64>], at: usize) -> bool {
    let mark = |sector: Option<&Vec<u64>>| {
        let words = sector.filter(|words| words.len() == WORDS)?;
        (words[0] == words[WORDS / 2] && words[0] != 0).then(|| unmix(words[0]))
    };
    let Some(own) = mark(sectors.get(at)) else {
        return false;
    };
    let before = at
        .checked_sub(1)
        .and_then(|before| mark(sectors.get(before)));
    before == Some(own.wrapping_sub(1)) || mark(sectors.get(at + 1)) == Some(own.wrapping_add(1))
}

/// The inverse of the finaliser of splitmix64.
const fn unmix(word: u64) -> u64 {
    let word = unshift(word, 31).wrapping_mul(inverse(SECOND));
    let word = unshift(word, 27).wrapping_mul(inverse(FIRST));
    unshift(word, 30)
}

/// The inverse of `word ^ (word >> by)` for `by` above 21.
const fn unshift(word: u64, by: u32) -> u64 {
    word ^ (word >> by) ^ (word >> (2 * by))
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mix(word: u64) -> u64 {
        let word = (word ^ word >> 30).wrapping_mul(FIRST);
        let word = (word ^ word >> 27).wrapping_mul(SECOND);
        word ^ word >> 31
    }

    /// The buffer of fio 3.42 with its default of four sequences.
    fn fio(seed: u64, words: usize) -> Vec<u64> {
        let mut state = [1, 2, 3, 5].map(|prime: u64| seed.wrapping_mul(prime));
        (0..words)
            .map(|at| {
                let state = &mut state[at % 4];
                let word = *state;
                *state = word.wrapping_mul(FIO_MULTIPLIER);
                word
            })
            .collect()
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn fills_are_recognised() {
        let mut scrambled = fio(0x1234_5678_9ABC_DEF1, 512);
        for sector in 0..8_usize {
            let (at, start) = (sector * WORDS, sector as u64 * 512);
            scrambled[at + 24] = start;
            (scrambled[at + 6], scrambled[at + 7]) = (1_700_000_000, 123_456_789);
        }
        assert!(is_benchmark_fill(&bytes(&scrambled)));
        assert!(is_benchmark_fill(&[0; 4096]));
        let layout = (1..=512_u64).map(|at| mix(77_u64.wrapping_add(at.wrapping_mul(INCREMENT))));
        assert!(is_benchmark_fill(&bytes(&layout.collect::<Vec<_>>())));
    }

    #[test]
    fn other_data_is_not_recognised() {
        let random: Vec<u64> = (0..512_u64).map(|at| mix(mix(at))).collect();
        assert!(!is_benchmark_fill(&bytes(&random)));
        let text: Vec<u8> = b"my thesis, chapter one. "
            .iter()
            .copied()
            .cycle()
            .take(4096)
            .collect();
        assert!(!is_benchmark_fill(&text));
        let mut note = vec![0; 4096];
        note[100..105].copy_from_slice(b"hello");
        assert!(!is_benchmark_fill(&note), "a short text among zeros");
        let mut mixed = bytes(&fio(7, 512));
        mixed[1024..1536].copy_from_slice(&text[..512]);
        assert!(!is_benchmark_fill(&mixed), "one sector of other data");
        let periodic: Vec<u64> = (0..512).map(|at| at % 32 + 1).collect();
        assert!(
            !is_benchmark_fill(&bytes(&periodic)),
            "equal words, but no marks"
        );
    }

    proptest! {
        #[test]
        fn unmix_inverts_mix(word: u64) {
            prop_assert_eq!(unmix(mix(word)), word);
        }
        #[test]
        fn any_bytes_are_checked_without_a_panic(data in proptest::collection::vec(any::<u8>(), 0..1500)) {
            let zero = data.iter().all(|&byte| byte == 0);
            prop_assert_eq!(is_benchmark_fill(&data), zero);
        }
    }
}
