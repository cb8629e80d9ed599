//! `random_distribution` and the distributions of `file_service_type`.

use fathom_model::{Bytes, Distribution, PerDirection};

use super::context::{ParseContext, ValueError};
use super::lists::float;
use super::split::zones;

/// fio's default theta of zipf.
pub(crate) const ZIPF_THETA: f64 = 1.1;
/// fio's default power of pareto.
pub(crate) const PARETO_POWER: f64 = 0.2;

/// Parses `name[:parameter[:center]]`, or zones, for the three directions.
///
/// # Errors
/// When the name is unknown or a parameter is out of range.
pub(crate) fn distribution(
    text: &str,
    context: &mut ParseContext,
) -> Result<PerDirection<Distribution>, ValueError> {
    let text = text.trim();
    let (name, rest) = text
        .split_once(':')
        .map_or((text, None), |(name, rest)| (name, Some(rest)));
    let rest = rest.map(str::trim).filter(|rest| !rest.is_empty());
    match name {
        "random" => Ok(PerDirection::all(Distribution::Uniform)),
        "zipf" => zipf(rest, context)
            .map(|(theta, center)| PerDirection::all(Distribution::Zipf { theta, center })),
        "pareto" => pareto(rest, context)
            .map(|(power, center)| PerDirection::all(Distribution::Pareto { power, center })),
        "normal" | "gauss" => normal(rest, context).map(|(deviation, center)| {
            PerDirection::all(Distribution::Normal { deviation, center })
        }),
        "zoned" => zoned(rest, context),
        "zoned_abs" => zoned_abs(rest, context),
        "sequence" => sequence(rest).map(|blocks| {
            PerDirection::all(Distribution::Sequence {
                blocks,
                advances: false,
            })
        }),
        _ => Err(unknown(text)),
    }
}

fn unknown(text: &str) -> ValueError {
    let known = "random, zipf, pareto, normal, zoned, zoned_abs or sequence";
    let fault = ValueError::new(format!("unknown distribution '{text}'"));
    match text.split_once('=') {
        Some((before, after)) => fault.advise(format!("use a colon: {before}:{after}")),
        None => fault.advise(format!("use {known}")),
    }
}

type Parameters = (f64, Option<f64>);

fn parameters(
    text: Option<&str>,
    default: f64,
    context: &ParseContext,
) -> Result<Parameters, ValueError> {
    let Some(text) = text else {
        return Ok((default, None));
    };
    let (value, center) = text
        .split_once(':')
        .map_or((text, None), |(value, center)| (value, Some(center)));
    let center = center.map(|center| float(center, context)).transpose()?;
    // fio represents "no center" as -1.
    let center = center.filter(|center| *center != -1.0);
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err(ValueError::new("the center is not between 0 and 1"));
    }
    Ok((float(value, context)?, center))
}

/// Theta and center of zipf.
///
/// # Errors
/// When theta is not positive, or is 1, where the underlying sum has no closed form.
pub(crate) fn zipf(text: Option<&str>, context: &ParseContext) -> Result<Parameters, ValueError> {
    let (theta, center) = parameters(text, ZIPF_THETA, context)?;
    if theta == 1.0 {
        return Err(ValueError::new("theta must not be 1").advise("use 0.99 or 1.01"));
    }
    if !(0.0..=100.0).contains(&theta) || theta == 0.0 {
        return Err(ValueError::new(format!(
            "theta {theta} is not between 0 and 100"
        )));
    }
    Ok((theta, center))
}

/// Power and center of pareto.
///
/// # Errors
/// When the power is not between 0 and 1.
pub(crate) fn pareto(text: Option<&str>, context: &ParseContext) -> Result<Parameters, ValueError> {
    let (power, center) = parameters(text, PARETO_POWER, context)?;
    if power > 0.0 && power < 1.0 {
        return Ok((power, center));
    }
    Err(ValueError::new(format!(
        "power {power} is not between 0 and 1"
    )))
}

/// Deviation in percent, and center, of normal.
///
/// # Errors
/// When the deviation is not in 0 to below 100.
pub(crate) fn normal(text: Option<&str>, context: &ParseContext) -> Result<Parameters, ValueError> {
    let (deviation, center) = parameters(text, 0.0, context)?;
    if (0.0..100.0).contains(&deviation) {
        return Ok((deviation, center));
    }
    Err(ValueError::new(format!(
        "deviation {deviation} is not between 0 and 100"
    )))
}

fn missing_zones() -> ValueError {
    ValueError::new("the zones are missing")
        .advise("write access/size pairs, for example zoned:60/10:40/90")
}

fn zoned(
    text: Option<&str>,
    context: &mut ParseContext,
) -> Result<PerDirection<Distribution>, ValueError> {
    let by_direction = zones(text.ok_or_else(missing_zones)?, false, context)?;
    // A share of the region never exceeds 100, so it fits.
    let convert = |zones: Vec<(u8, u64)>| {
        zones
            .into_iter()
            .map(|(access, size)| (access, u8::try_from(size).unwrap_or(100)))
            .collect()
    };
    Ok(PerDirection(by_direction.map(|zones: Vec<_>| {
        if zones.is_empty() {
            Distribution::Uniform
        } else {
            Distribution::Zoned(convert(zones))
        }
    })))
}

fn zoned_abs(
    text: Option<&str>,
    context: &mut ParseContext,
) -> Result<PerDirection<Distribution>, ValueError> {
    let by_direction = zones(text.ok_or_else(missing_zones)?, true, context)?;
    let convert = |zones: Vec<(u8, u64)>| {
        zones
            .into_iter()
            .map(|(access, size)| (access, Bytes::new(size)))
            .collect()
    };
    Ok(PerDirection(by_direction.map(|zones: Vec<_>| {
        if zones.is_empty() {
            Distribution::Uniform
        } else {
            Distribution::ZonedAbs(convert(zones))
        }
    })))
}

/// Maximum number of blocks in a sequence, as in fio.
const MAX_SEQUENCE: usize = 64;

fn sequence(text: Option<&str>) -> Result<Vec<u64>, ValueError> {
    let blocks = || {
        ValueError::new("the blocks are missing")
            .advise("list block numbers, for example sequence:2,0,1")
    };
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .map_err(|_| ValueError::new(format!("invalid block number '{}'", text.trim())))
    };
    let blocks = text
        .ok_or_else(blocks)?
        .split(',')
        .map(number)
        .collect::<Result<Vec<u64>, ValueError>>()?;
    if blocks.len() > MAX_SEQUENCE {
        return Err(
            ValueError::new(format!("{} blocks exceed the limit", blocks.len()))
                .advise("at most 64"),
        );
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Direction, Personality::Fathom};

    fn read(text: &str) -> Result<Distribution, ValueError> {
        distribution(text, &mut ParseContext::new(Fathom, 1))
            .map(|all| all[Direction::Read].clone())
    }

    #[test]
    fn defaults_are_those_of_fio() {
        assert_eq!(
            read("zipf"),
            Ok(Distribution::Zipf {
                theta: 1.1,
                center: None
            })
        );
        assert_eq!(
            read("pareto"),
            Ok(Distribution::Pareto {
                power: 0.2,
                center: None
            })
        );
        assert_eq!(
            read("zipf:1.2:0.5"),
            Ok(Distribution::Zipf {
                theta: 1.2,
                center: Some(0.5)
            })
        );
        assert_eq!(
            read("normal:20"),
            Ok(Distribution::Normal {
                deviation: 20.0,
                center: None
            })
        );
    }

    /// fio's manual shows zoned_abs=..., which fails in fio 3.33; the advice shows the colon.
    #[test]
    fn an_equals_sign_gets_advice_to_use_a_colon() {
        let fault = read("zoned_abs=60/1g:40/2g").expect_err("an unknown distribution");
        assert_eq!(
            fault.advice.as_deref(),
            Some("use a colon: zoned_abs:60/1g:40/2g")
        );
    }

    #[test]
    fn out_of_range_is_refused() {
        for text in [
            "zipf:1.0",
            "zipf:0",
            "zipf:-1",
            "pareto:1",
            "pareto:0",
            "normal:100",
            "zipf:1.2:2",
            "zoned",
            "zoned:50/50",
            "uniform",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
