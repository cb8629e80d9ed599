//! What panel, colour and order of the lines of a chart mean.
//!
//! Patterns and directions have panels of their own. One more property is the colour: a device, or a
//! quantity with an order (queue depth, jobs, block size), which gets the ordered colour scale. Other
//! properties that differ separate the panels too.

use super::group::{
    BLOCK, DEPTH, DIRECTION, Group, JOBS, MIX, NAME, OFFSET, PATTERN, SOURCE, Seen, Split,
};

/// Limit of lines in a panel, so that they can be distinguished.
pub(super) const LINES: usize = 7;
/// Limit of panels in a chart.
pub(super) const PANELS: usize = 6;
/// Limit of the values that a note lists.
const LISTED: usize = 8;

/// Lines with their panels and colours.
pub(super) struct Encoding<'a> {
    /// The properties that all lines have in common.
    pub(super) common: String,
    /// Titles of the panels; empty if there is one without a title.
    pub(super) panels: Vec<String>,
    pub(super) lines: Vec<Line<'a>>,
    /// What is left out, and the option that draws it.
    pub(super) notes: Vec<String>,
    /// Every point of every line, for a table.
    pub(super) is_complete: bool,
}

/// The jobs of one line.
pub(super) struct Line<'a> {
    pub(super) panel: usize,
    /// Its name in the panel; empty if the panel has no other line.
    pub(super) label: String,
    /// Its number among the values of the colour.
    pub(super) colour: usize,
    /// Its position on the ordered colour scale.
    pub(super) shade: Option<f64>,
    pub(super) seen: Vec<Seen<'a>>,
    /// Its properties that the panel shows, and those that the colour shows.
    panel_parts: Vec<(usize, String)>,
    colour_parts: Vec<(usize, String)>,
}

/// The groups with their panels and colours, all of them.
pub(super) fn encode<'a>(made: Split<'a>) -> Encoding<'a> {
    let mut differing: Vec<usize> = (0..made.same.len()).filter(|n| !made.same[*n]).collect();
    if is_name_redundant(&made.groups, &differing) {
        differing.retain(|n| *n != NAME);
    }
    let coloured = coloured(&made.groups, &differing);
    let pick = |group: &Group, of_colour: bool| -> Vec<(usize, String)> {
        differing
            .iter()
            .filter(|n| coloured.contains(n) == of_colour)
            .map(|n| (*n, group.parts[*n].clone()))
            .filter(|(_, part)| !part.is_empty())
            .collect()
    };
    let joined = |parts: &[(usize, String)]| {
        let texts: Vec<&str> = parts.iter().map(|(_, part)| part.as_str()).collect();
        texts.join(", ")
    };
    let mut panels: Vec<String> = Vec::new();
    let mut lines: Vec<Line> = made
        .groups
        .into_iter()
        .map(|group| {
            let (panel_parts, colour_parts) = (pick(&group, false), pick(&group, true));
            let title = joined(&panel_parts);
            let panel = position_or_push(&mut panels, title);
            Line {
                panel,
                label: joined(&colour_parts),
                colour: 0,
                shade: None,
                seen: group.seen,
                panel_parts,
                colour_parts,
            }
        })
        .collect();
    set_colours(&mut lines, &coloured);
    if panels.len() == 1 && panels[0].is_empty() {
        panels.clear();
    }
    Encoding {
        common: made.common,
        panels,
        lines,
        notes: Vec::new(),
        is_complete: false,
    }
}

fn position_or_push(all: &mut Vec<String>, one: String) -> usize {
    all.iter()
        .position(|known| *known == one)
        .unwrap_or_else(|| {
            all.push(one);
            all.len() - 1
        })
}

/// Whether the other properties already distinguish all names.
fn is_name_redundant(groups: &[Group], differing: &[usize]) -> bool {
    let key = |group: &Group| -> Vec<String> {
        differing
            .iter()
            .filter(|n| **n != NAME)
            .map(|n| group.parts[*n].clone())
            .collect()
    };
    let mut keys: Vec<Vec<String>> = groups.iter().map(key).collect();
    keys.sort();
    keys.windows(2).all(|two| two[0] != two[1])
}

/// The properties that the colour shows: the device, or the ordered quantity with the most values,
/// or else all that is neither pattern nor direction.
fn coloured(groups: &[Group], differing: &[usize]) -> Vec<usize> {
    let rest: Vec<usize> = differing
        .iter()
        .copied()
        .filter(|n| ![PATTERN, DIRECTION].contains(n))
        .collect();
    if rest.contains(&NAME) {
        return rest;
    }
    if rest.contains(&SOURCE) {
        return vec![SOURCE];
    }
    let values = |n: usize| {
        let mut all: Vec<&str> = groups.iter().map(|group| group.parts[n].as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    let ordered = rest.iter().copied().filter(|n| is_ordered(*n));
    ordered
        .max_by_key(|n| (values(*n), std::cmp::Reverse(*n)))
        .map_or(rest, |n| vec![n])
}

fn is_ordered(part: usize) -> bool {
    [OFFSET, BLOCK, MIX, DEPTH, JOBS].contains(&part)
}

/// The value of an ordered property.
fn value(seen: &Seen, part: usize) -> u64 {
    let cell = seen.cell;
    match part {
        OFFSET => cell.offset,
        BLOCK => cell.block,
        MIX => cell.mix.map(u64::from),
        DEPTH => cell.depth.map(u64::from),
        _ => cell.jobs.map(u64::from),
    }
    .unwrap_or(0)
}

/// Equal values have the same colour in all panels.
fn set_colours(lines: &mut [Line], coloured: &[usize]) {
    if let [part] = coloured
        && is_ordered(*part)
    {
        let of = |line: &Line| line.seen.first().map_or(0, |seen| value(seen, *part));
        let mut values: Vec<u64> = lines.iter().map(of).collect();
        values.sort_unstable();
        values.dedup();
        let last = values.len().saturating_sub(1).max(1) as f64;
        for line in lines {
            let rank = values.binary_search(&of(line)).unwrap_or(0);
            (line.colour, line.shade) = (rank, Some(rank as f64 / last));
        }
        return;
    }
    let mut labels = Vec::new();
    for line in lines {
        line.colour = position_or_push(&mut labels, line.label.clone());
    }
}

impl<'a> Encoding<'a> {
    /// At most [`PANELS`] panels with [`LINES`] lines each. Of an ordered quantity the first, the last
    /// and evenly spaced values between them are kept, the same in all panels.
    pub(super) fn limited(self) -> Encoding<'a> {
        self.limited_to(LINES, None)
    }

    /// The same with at most `most` lines, at least two. The colour `wanted` is kept.
    pub(super) fn limited_to(mut self, most: usize, wanted: Option<usize>) -> Encoding<'a> {
        if self.panels.len() > PANELS {
            self.notes.extend(left_out(
                self.lines
                    .iter()
                    .filter(|line| line.panel >= PANELS)
                    .map(|line| line.panel_parts.as_slice()),
                self.panels.len() - PANELS,
                "panel",
            ));
            self.lines.retain(|line| line.panel < PANELS);
            self.panels.truncate(PANELS);
        }
        let mut colours: Vec<usize> = self.lines.iter().map(|line| line.colour).collect();
        colours.sort_unstable();
        colours.dedup();
        if colours.len() <= most {
            return self;
        }
        let is_ordered = self.lines.iter().any(|line| line.shade.is_some());
        let last = colours.len() - 1;
        let mut kept: Vec<usize> = (0..most)
            .map(|n| colours[if is_ordered { n * last / (most - 1) } else { n }])
            .collect();
        if let Some(wanted) = wanted.filter(|wanted| !kept.contains(wanted)) {
            // In place of the nearest of those between the ends.
            let nearest = (1..most - 1).min_by_key(|n| kept[*n].abs_diff(wanted));
            nearest.into_iter().for_each(|n| kept[n] = wanted);
        }
        let is_left_out = |line: &&Line| !kept.contains(&line.colour);
        self.notes.extend(left_out(
            self.lines
                .iter()
                .filter(is_left_out)
                .map(|line| line.colour_parts.as_slice()),
            colours.len() - kept.len(),
            "line",
        ));
        self.lines.retain(|line| kept.contains(&line.colour));
        for line in &mut self.lines {
            let rank = kept.iter().position(|kept| *kept == line.colour);
            line.colour = rank.unwrap_or(0);
            line.shade = line.shade.map(|_| line.colour as f64 / (most - 1) as f64);
        }
        self
    }

    /// Each line in a panel of its own.
    pub(super) fn separated(mut self) -> Encoding<'a> {
        let mut panels = Vec::new();
        for line in &mut self.lines {
            let of_panel = self.panels.get(line.panel).map_or("", String::as_str);
            let parts = [of_panel, &line.label];
            let title: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            line.panel = position_or_push(&mut panels, title.join(", "));
            line.label.clear();
            line.panel_parts.append(&mut line.colour_parts);
        }
        if panels.len() == 1 && panels[0].is_empty() {
            panels.clear();
        }
        self.panels = panels;
        self
    }

    /// Whether lines differ in their names: in nothing that an option varies.
    pub(super) fn has_names(&self) -> bool {
        let parts = |line: &'_ Line<'a>| -> Vec<usize> {
            let both = line.panel_parts.iter().chain(&line.colour_parts);
            both.map(|(part, _)| *part).collect()
        };
        self.lines.iter().any(|line| parts(line).contains(&NAME))
    }

    /// Whether the colours are devices.
    pub(super) fn has_device_colours(&self) -> bool {
        let is_device = |line: &Line| line.colour_parts.iter().all(|(part, _)| *part == SOURCE);
        self.lines.iter().all(is_device)
    }

    /// How many lines the fullest panel has.
    pub(super) fn most_lines(&self) -> usize {
        (0..self.panels.len().max(1))
            .map(|panel| self.lines.iter().filter(|line| line.panel == panel).count())
            .max()
            .unwrap_or(0)
    }
}

/// `Left out, 2 lines: 3 jobs; 12 jobs. --jobs=3,12 draws them.`
fn left_out<'p>(
    all: impl Iterator<Item = &'p [(usize, String)]>,
    count: usize,
    noun: &str,
) -> Option<String> {
    let mut labels: Vec<String> = Vec::new();
    let mut options: Vec<(&str, Vec<String>)> = Vec::new();
    for parts in all {
        let label: Vec<&str> = parts.iter().map(|(_, part)| part.as_str()).collect();
        if position_or_push(&mut labels, label.join(", ")) >= LISTED {
            continue;
        }
        for (part, text) in parts {
            let Some((option, value)) = option(*part, text) else {
                continue;
            };
            match options.iter_mut().find(|(known, _)| *known == option) {
                Some((_, values)) => drop(position_or_push(values, value)),
                None => options.push((option, vec![value])),
            }
        }
    }
    if labels.is_empty() {
        return None;
    }
    let more = if labels.len() > LISTED {
        format!(" and {} more", labels.len() - LISTED)
    } else {
        String::new()
    };
    labels.truncate(LISTED);
    let options: Vec<String> = options
        .into_iter()
        .map(|(option, values)| format!("{option}={}", values.join(",")))
        .collect();
    let how = if options.is_empty() {
        String::new()
    } else {
        format!(". {} draws them", options.join(" "))
    };
    Some(format!(
        "Left out, {}: {}{more}{how}.",
        crate::figures::counted(count as u64, noun),
        labels.join("; "),
    ))
}

/// The option of `fathom plot` that selects a property, and its value.
fn option(part: usize, text: &str) -> Option<(&'static str, String)> {
    let first = || text.split(' ').next().unwrap_or(text).to_owned();
    Some(match part {
        PATTERN => ("--rw", text.to_owned()),
        DIRECTION => ("--direction", text.trim_end_matches('s').to_owned()),
        // `4 KiB` is `4k` on the command line.
        BLOCK => (
            "--block",
            text.replace(" bytes", "")
                .replace(" KiB", "k")
                .replace(" MiB", "m")
                .replace(" GiB", "g")
                .replace(" B", ""),
        ),
        DEPTH => ("--depth", text.trim_start_matches("depth ").to_owned()),
        JOBS => ("--jobs", first()),
        NAME => ("--name", text.to_owned()),
        _ => return None,
    })
}
