//! `bssplit` and the zones of `random_distribution`: entries with shares, by direction.

use super::context::{ParseContext, ValueError};
use super::lists::single;
use super::number::number;
use super::unit::Unit;

/// Maximum number of entries of one `bssplit` direction.
const MAX_SIZES: usize = 64;
/// Maximum number of zones of one direction.
const MAX_ZONES: usize = 256;

/// Block sizes with their shares in percent, which add up to 100, of one direction.
pub(crate) type SizeShares = Vec<(u64, f64)>;

/// Shares of the accesses in percent, each with the size of its zone.
pub(crate) type Zones = Vec<(u8, u64)>;

/// The texts for read, write and trim: one for all, or read,write(=trim), or all three.
pub(super) fn by_direction(text: &str) -> Result<[&str; 3], ValueError> {
    let parts: Vec<&str> = text.trim().split(',').collect();
    match parts[..] {
        [all] => Ok([all; 3]),
        [read, write] => Ok([read, write, write]),
        [read, write, trim] => Ok([read, write, trim]),
        _ => Err(
            ValueError::new(format!("'{text}' has {} directions", parts.len()))
                .advise("at most read,write,trim"),
        ),
    }
}

pub(super) fn try_map<T>(
    texts: [&str; 3],
    mut read: impl FnMut(&str) -> Result<T, ValueError>,
) -> Result<[T; 3], ValueError> {
    Ok([read(texts[0])?, read(texts[1])?, read(texts[2])?])
}

/// Reads `size/percent:size/percent:...` for each direction; an empty direction has no entries.
///
/// # Errors
/// When an entry cannot be read, or the shares cannot add up to 100.
pub(crate) fn sizes(text: &str, context: &mut ParseContext) -> Result<[SizeShares; 3], ValueError> {
    let directions = by_direction(text)?;
    let noted = context.notes.len();
    let split = try_map(directions, |part| sizes_of_one(part, context))?;
    dedup_notes(context, noted);
    Ok(split)
}

fn dedup_notes(context: &mut ParseContext, from: usize) {
    let mut seen = Vec::new();
    for note in context.notes.split_off(from) {
        if !seen.contains(&note) {
            seen.push(note);
        }
    }
    context.notes.append(&mut seen);
}

fn sizes_of_one(text: &str, context: &mut ParseContext) -> Result<SizeShares, ValueError> {
    let mut entries: Vec<(u64, Option<u64>)> = Vec::new();
    for entry in text.split(':').take_while(|entry| !entry.is_empty()) {
        if entries.len() == MAX_SIZES {
            return Err(ValueError::new(format!(
                "more than {MAX_SIZES} sizes in one direction"
            )));
        }
        let (size, share) = entry.split_once('/').unwrap_or((entry, ""));
        entries.push((positive(size, context)?, percent(share, context)?));
    }
    fill_open_shares(entries, context)
}

pub(super) fn positive(text: &str, context: &mut ParseContext) -> Result<u64, ValueError> {
    single(text, context)?;
    let size = number(text, Unit::Bytes, context)?;
    u64::try_from(size)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| ValueError::new(format!("'{text}' is not a block size")))
}

/// An empty share, or 0, leaves the share open; fio limits a share to 100.
pub(super) fn percent(text: &str, context: &ParseContext) -> Result<Option<u64>, ValueError> {
    let digits: String = text
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let rest = text.trim()[digits.len()..].trim_start_matches('%');
    if !rest.is_empty() && !context.is_fio() {
        return Err(ValueError::new(format!(
            "'{text}' is not a whole percentage"
        )));
    }
    let share = digits
        .parse::<u64>()
        .unwrap_or(if digits.is_empty() { 0 } else { 101 });
    if share > 100 && !context.is_fio() {
        return Err(ValueError::new(format!(
            "'{text}' is more than 100 percent"
        )));
    }
    Ok(Some(share.min(100)).filter(|n| *n > 0))
}

/// Divides the remaining share between the entries without one.
fn fill_open_shares(
    entries: Vec<(u64, Option<u64>)>,
    context: &ParseContext,
) -> Result<SizeShares, ValueError> {
    let sum: u64 = entries.iter().filter_map(|entry| entry.1).sum();
    let open = entries.iter().filter(|entry| entry.1.is_none()).count();
    if sum > 100 && (!context.is_fio() || open > 1) {
        return Err(
            ValueError::new(format!("the shares add up to {sum} percent"))
                .advise("the sum must not exceed 100"),
        );
    }
    if sum < 100 && open == 0 && !entries.is_empty() && !context.is_fio() {
        return Err(
            ValueError::new(format!("the shares add up to {sum} percent"))
                .advise("leave one share empty to give it the rest"),
        );
    }
    let rest = 100_u64.saturating_sub(sum) as f64 / open.max(1) as f64;
    let shares: Vec<(u64, f64)> = entries
        .into_iter()
        .map(|(size, share)| (size, share.map_or(rest, |n| n as f64)))
        .collect();
    Ok(normalised(shares))
}

/// Shares scaled to a sum of 100: where fio accepts another sum, only the ratio counts.
fn normalised(mut shares: SizeShares) -> SizeShares {
    let sum: f64 = shares.iter().map(|entry| entry.1).sum();
    if sum > 0.0 && (sum - 100.0).abs() > 1e-9 {
        shares.iter_mut().for_each(|entry| entry.1 *= 100.0 / sum);
    }
    shares
}

/// Reads `access/size:access/size:...` for each direction, sizes in percent, or in bytes when `absolute`.
///
/// # Errors
/// When an entry cannot be read, or the accesses do not add up to 100.
pub(crate) fn zones(
    text: &str,
    absolute: bool,
    context: &mut ParseContext,
) -> Result<[Zones; 3], ValueError> {
    let directions = by_direction(text)?;
    let noted = context.notes.len();
    let zones = try_map(directions, |part| zones_of_one(part, absolute, context))?;
    dedup_notes(context, noted);
    Ok(zones)
}

fn zones_of_one(
    text: &str,
    absolute: bool,
    context: &mut ParseContext,
) -> Result<Zones, ValueError> {
    let mut zones: Vec<(u8, Option<u64>)> = Vec::new();
    for entry in text.split(':').take_while(|entry| !entry.is_empty()) {
        if zones.len() == MAX_ZONES {
            return Err(ValueError::new(format!(
                "more than {MAX_ZONES} zones in one direction"
            )));
        }
        let (access, size) = entry.split_once('/').unwrap_or((entry, ""));
        zones.push((
            access_share(access, context)?,
            zone_size(size, absolute, context)?,
        ));
    }
    check_zones(zones, absolute)
}

fn access_share(text: &str, context: &mut ParseContext) -> Result<u8, ValueError> {
    let share = number(text, Unit::Count, context)?;
    u8::try_from(share)
        .ok()
        .filter(|n| *n <= 100)
        .ok_or_else(|| ValueError::new(format!("'{text}' is not a percentage of the accesses")))
}

fn zone_size(
    text: &str,
    absolute: bool,
    context: &mut ParseContext,
) -> Result<Option<u64>, ValueError> {
    if !absolute {
        return percent(text, context);
    }
    if text.is_empty() {
        return Err(
            ValueError::new("a zone has no size").advise("write access/size, for example 60/1g")
        );
    }
    let size = number(text, Unit::Bytes, context)?;
    u64::try_from(size)
        .map(Some)
        .map_err(|_| ValueError::new(format!("'{text}' is not a size")))
}

fn check_zones(zones: Vec<(u8, Option<u64>)>, absolute: bool) -> Result<Zones, ValueError> {
    let access: u64 = zones.iter().map(|zone| u64::from(zone.0)).sum();
    if !zones.is_empty() && access != 100 {
        return Err(
            ValueError::new(format!("the accesses add up to {access} percent"))
                .advise("the sum must be 100"),
        );
    }
    let sum: u64 = zones
        .iter()
        .filter_map(|zone| zone.1)
        .fold(0, u64::saturating_add);
    if !absolute && sum > 100 {
        return Err(
            ValueError::new(format!("the zones add up to {sum} percent of the region"))
                .advise("the sum must not exceed 100"),
        );
    }
    let open = zones.iter().filter(|zone| zone.1.is_none()).count() as u64;
    let rest = 100_u64.saturating_sub(sum) / open.max(1);
    Ok(zones
        .into_iter()
        .map(|(access, size)| (access, size.unwrap_or(rest)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality::{Fathom, Fio};

    #[test]
    fn empty_shares_divide_the_rest() {
        let mut context = ParseContext::new(Fathom, 1);
        let [read, write, trim] = sizes("4k/60:64k/:8k", &mut context).expect("two are open");
        assert_eq!(read, vec![(4096, 60.0), (65536, 20.0), (8192, 20.0)]);
        assert_eq!((&read, &read), (&write, &trim));
        let [read, write, trim] =
            sizes("4k/50:8k/50,2k/100", &mut context).expect("two directions");
        assert_eq!((read.len(), write.len(), trim), (2, 1, vec![(2048, 100.0)]));
    }

    /// fio 3.33 accepts a total above 100 where every share is given; `fathom run` does not.
    #[test]
    fn only_fio_accepts_totals_above_100() {
        let text = "4k/80:8k/80";
        assert_eq!(
            sizes(text, &mut ParseContext::new(Fio, 1)).expect("fio takes it")[0],
            vec![(4096, 50.0), (8192, 50.0)]
        );
        assert!(sizes(text, &mut ParseContext::new(Fathom, 1)).is_err());
        assert!(sizes("4k/80:8k/10", &mut ParseContext::new(Fathom, 1)).is_err());
    }

    #[test]
    fn zones_must_cover_all_accesses() {
        let mut context = ParseContext::new(Fathom, 1);
        assert_eq!(
            zones("60/10:30/20:10/70", false, &mut context).expect("complete")[0],
            vec![(60, 10), (30, 20), (10, 70)]
        );
        assert_eq!(
            zones("50/1g:50/2g", true, &mut context).expect("complete")[0],
            vec![(50, 1 << 30), (50, 2 << 30)]
        );
        assert!(zones("60/10:30/20", false, &mut context).is_err());
        assert!(zones("50/60:50/60", false, &mut context).is_err());
    }
}
