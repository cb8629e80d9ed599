//! Interference between loads on several targets.

use fathom_model::CellFigures;

use crate::figures::count;

/// A smaller loss is measurement noise.
const NOTABLE_LOSS: f64 = 0.05;

/// A sentence about targets that were measured `alone` and then all `together`: (name, I/Os per
/// second), in the order of the sides of `together`. `None` if a figure is missing.
#[must_use]
pub fn interference(at: &str, alone: &[(String, f64)], together: &CellFigures) -> Option<String> {
    if together.per_target.len() != alone.len() || alone.iter().any(|(_, iops)| *iops <= 0.0) {
        return None;
    }
    let losses: Vec<(&str, f64, f64)> = alone
        .iter()
        .zip(&together.per_target)
        .map(|((name, alone), with)| (name.as_str(), *with, 1.0 - with / alone))
        .collect();
    let sum: f64 = alone.iter().map(|(_, iops)| iops).sum();
    let all: f64 = together.per_target.iter().sum();
    let head = if at.is_empty() {
        String::new()
    } else {
        format!("{at}: ")
    };
    let each: Vec<String> = losses
        .iter()
        .map(|(name, with, loss)| {
            let change = if *loss >= 0.0 {
                format!("{:.0} % less", loss * 100.0)
            } else {
                format!("{:.0} % more", -loss * 100.0)
            };
            format!(
                "{name} {} ({change} than alone)",
                count(with.round() as u64)
            )
        })
        .collect();
    let verdict = if losses.iter().any(|(_, _, loss)| *loss > NOTABLE_LOSS) {
        if all < sum * (1.0 - NOTABLE_LOSS) {
            "they share a saturated resource"
        } else {
            "the total is the same, but the shares differ: repeat to distinguish chance from a shared limit"
        }
    } else {
        "they do not slow each other down"
    };
    Some(format!(
        "{head}together {} IOPS, {:.0} % of the sum alone: {}; {verdict}.",
        count(all.round() as u64),
        100.0 * all / sum,
        each.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(sides: &[f64]) -> CellFigures {
        CellFigures {
            iops: sides.iter().sum(),
            per_target: sides.to_vec(),
            ..CellFigures::default()
        }
    }

    #[test]
    fn shared_and_separate_links_are_described() {
        let alone = [("a".to_owned(), 10_000.0), ("b".to_owned(), 20_000.0)];
        let shared =
            interference("bs=4k", &alone, &together(&[5_000.0, 10_000.0])).expect("a sentence");
        assert_eq!(
            shared,
            "bs=4k: together 15,000 IOPS, 50 % of the sum alone: a 5,000 (50 % less than alone), b 10,000 (50 % less than alone); they share a saturated resource."
        );
        let apart = interference("", &alone, &together(&[9_900.0, 20_100.0])).expect("a sentence");
        assert!(
            apart.starts_with("together 30,000 IOPS, 100 %")
                && apart.ends_with("they do not slow each other down."),
            "{apart}"
        );
        let shifted =
            interference("", &alone, &together(&[5_000.0, 26_000.0])).expect("a sentence");
        assert!(
            shifted.contains("b 26,000 (30 % more than alone)")
                && shifted.contains("but the shares differ"),
            "{shifted}"
        );
        assert_eq!(interference("", &alone, &together(&[1.0])), None);
    }
}
