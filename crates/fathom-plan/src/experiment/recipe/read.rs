//! Parses a recipe from TOML. An error names its line, and affects only this recipe.

use fathom_model::{Bytes, Nanos};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::table::{File, TableEntry};
use super::{Level, Recipe, RecipeError, Rounds, Step, Tracked, Training, tenants};
use crate::experiment::Axis;

/// Supported version of the format.
const SCHEMA: u32 = 1;
/// Maximum number of steps, and of cells in one.
const MAX_STEPS: usize = 1000;
const MAX_CELLS: usize = 10_000;
/// Maximum number of rounds of one step.
const MAX_ROUNDS: u32 = 10_000;
/// A steady state is judged over five rounds.
const MIN_ROUNDS: u32 = 5;

/// Parses the recipe in `text`, the content of the file `name`.
///
/// # Errors
/// The first error, with its line.
pub fn read_recipe(name: &str, text: &str) -> Result<Recipe, RecipeError> {
    let file = File { name, text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        file.error(
            at,
            format!("invalid TOML: {}", error.message().replace('\n', " ")),
        )
    })?;
    recipe(&TableEntry {
        file,
        table: table.get_ref(),
        at: 0,
    })
}

fn recipe(top: &TableEntry<'_>) -> Result<Recipe, RecipeError> {
    top.only(&[
        "schema",
        "name",
        "title",
        "about",
        "procedure",
        "size",
        "time",
        "options",
        "step",
        "tenant",
    ])?;
    if top.number("schema", SCHEMA..=SCHEMA)?.is_none() {
        return Err(top.wrong(
            "schema",
            format!("`schema = {SCHEMA}` is missing at the top"),
        ));
    }
    let name = top.required("name")?;
    if !is_name(&name) {
        return Err(top.wrong(
            "name",
            "a name consists of lower-case letters, digits and `-`",
        ));
    }
    let mut recipe = Recipe {
        title: top.required("title")?,
        about: top.text("about")?.unwrap_or_default(),
        procedure: top.text("procedure")?,
        size: top.size("size")?.map(Bytes::new),
        time: Nanos::new(top.time("time")?.unwrap_or(10_000_000_000)),
        options: top.options("options")?,
        steps: Vec::new(),
        tenants: Vec::new(),
        source: top.file.name.to_owned(),
        text: top.file.text.to_owned(),
        name,
    };
    for place in top.tables("step")? {
        let step = step(&place, &recipe.steps)?;
        recipe.steps.push(step);
        if recipe.steps.len() > MAX_STEPS {
            return Err(top
                .file
                .error(place.at..place.at, format!("more than {MAX_STEPS} steps")));
        }
    }
    tenants::add(top, &mut recipe)?;
    if recipe.steps.is_empty() {
        return Err(top
            .file
            .error(0..0, "the recipe has no [[step]] and no [[tenant]]"));
    }
    Ok(recipe)
}

pub(super) fn is_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn step(place: &TableEntry<'_>, before: &[Step]) -> Result<Step, RecipeError> {
    place.only(&[
        "name",
        "title",
        "job",
        "options",
        "read_only",
        "axes",
        "levels",
        "time",
        "passes",
        "share",
        "prepares",
        "purge",
        "rounds",
        "steady",
        "figure",
        "soak",
        "written",
        "series",
        "judged",
        "training",
        "stands_for",
    ])?;
    let name = place.required("name")?;
    if !is_name(&name) {
        return Err(place.wrong(
            "name",
            "a name consists of lower-case letters, digits and `-`",
        ));
    }
    if before.iter().any(|step| step.name == name) {
        return Err(place.wrong("name", format!("two steps are named {name}")));
    }
    let step = Step {
        title: place.text("title")?.unwrap_or_else(|| name.clone()),
        job: place.text("job")?,
        options: place.options("options")?,
        read_only: place.options("read_only")?,
        axes: axes(place)?,
        training: training(place)?,
        stands_for: place.size("stands_for")?.map(Bytes::new),
        levels: place
            .tables("levels")?
            .iter()
            .map(|level| self::level(level, before))
            .collect::<Result<_, _>>()?,
        time: place.time("time")?.map(Nanos::new),
        passes: place.number("passes", 1..=1000)?,
        share: place.number("share", 1..=4096)?,
        prepares: place.flag("prepares")?,
        purge: place.flag("purge")?,
        rounds: None,
        series: place.flag("series")?,
        judged: place.text("judged")?,
        tenants: Vec::new(),
        joining: false,
        name,
    };
    if step.time.is_some() && step.passes.is_some() {
        return Err(place.wrong("passes", "a step takes either time or passes"));
    }
    let cells = step
        .axes
        .iter()
        .map(|axis| axis.values.len())
        .chain(step.levels.iter().map(|level| level.percent.len()));
    if cells.fold(1_usize, usize::saturating_mul) > MAX_CELLS {
        return Err(place.wrong("axes", format!("more than {MAX_CELLS} cells in one step")));
    }
    let rounds = rounds(place, &step)?;
    if step.training.is_some() && rounds.is_some() {
        return Err(place.wrong("training", "a step takes either rounds or training"));
    }
    Ok(Step { rounds, ..step })
}

fn axes(place: &TableEntry<'_>) -> Result<Vec<Axis>, RecipeError> {
    let one = |(text, at): (String, std::ops::Range<usize>)| match Axis::parse(&text) {
        Ok(axis) if axis.name == "target" => Err(place.file.error(
            at,
            "a recipe cannot set the target; it is an argument of the command",
        )),
        Ok(axis) => Ok(axis),
        Err(error) => Err(place.file.error(at, error.problem)),
    };
    place.texts("axes")?.into_iter().map(one).collect()
}

fn training(place: &TableEntry<'_>) -> Result<Option<Training>, RecipeError> {
    let Some(entry) = place.table("training")? else {
        return Ok(None);
    };
    entry.only(&["sample", "batch", "compute", "read_threads", "least"])?;
    if !place
        .texts("axes")?
        .iter()
        .any(|(axis, _)| axis.trim_start().starts_with("numjobs="))
    {
        return Err(place.wrong(
            "training",
            "`axes = [\"numjobs=1,2,4\"]` is missing: the numbers of accelerators",
        ));
    }
    let number = |key: &str| {
        entry
            .number(key, 1..=u32::MAX)?
            .ok_or_else(|| entry.wrong(key, format!("`{key} = 1` is missing")))
    };
    Ok(Some(Training {
        sample: number("sample")?,
        batch: number("batch")?,
        compute: Nanos::new(
            entry
                .time("compute")?
                .ok_or_else(|| entry.wrong("compute", "`compute = \"100ms\"` is missing"))?,
        ),
        read_threads: entry.number("read_threads", 1..=1024)?.unwrap_or(1),
        least: entry.number("least", 1..=100)?.unwrap_or(90),
    }))
}

fn tracked(place: &TableEntry<'_>) -> Result<Tracked, RecipeError> {
    match place.text("figure")?.as_deref() {
        None | Some("iops") => Ok(Tracked::Iops),
        Some("bandwidth") => Ok(Tracked::Bandwidth),
        Some("mean") => Ok(Tracked::Mean),
        Some(_) => Err(place.wrong("figure", "figure must be iops, bandwidth or mean")),
    }
}

fn level(place: &TableEntry<'_>, before: &[Step]) -> Result<Level, RecipeError> {
    place.only(&["option", "of", "figure", "percent"])?;
    let option = place.required("option")?;
    place.known(&option, place.span("option"))?;
    let of = place.required("of")?;
    if !before.iter().any(|step| {
        step.name == of && step.axes.is_empty() && step.levels.is_empty() && step.rounds.is_none()
    }) {
        return Err(place.wrong(
            "of",
            format!("no earlier step '{}' with a single cell", of.escape_debug()),
        ));
    }
    let percent = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Integer(number) => number
            .to_string()
            .parse::<u32>()
            .ok()
            .filter(|percent| (1..=1000).contains(percent)),
        _ => None,
    };
    let percent: Option<Vec<u32>> = place.list("percent")?.iter().map(percent).collect();
    let percent = percent.filter(|all| !all.is_empty()).ok_or_else(|| {
        place.wrong(
            "percent",
            "percent must be a list of numbers from 1 to 1000",
        )
    })?;
    Ok(Level {
        option,
        of,
        figure: tracked(place)?,
        percent,
    })
}

fn rounds(place: &TableEntry<'_>, step: &Step) -> Result<Option<Rounds>, RecipeError> {
    let Some(most) = place.number("rounds", MIN_ROUNDS..=MAX_ROUNDS)? else {
        return match ["steady", "soak", "written"]
            .into_iter()
            .find(|key| !place.span(key).is_empty())
        {
            Some(key) => Err(place.wrong(
                key,
                format!("{key} needs rounds, for example `rounds = 25`"),
            )),
            None => Ok(None),
        };
    };
    if !step.levels.is_empty() {
        return Err(place.wrong("levels", "a step takes either rounds or levels"));
    }
    let mut tracked_cells = Vec::new();
    for (text, at) in place.texts("steady")? {
        tracked_cells.push(values_of(&text, step).ok_or_else(|| place.file.error(at, format!("'{}' is not a cell of this step: give a value of each axis, such as \"bs=4k rwmixread=0\"", text.escape_debug())))?);
    }
    if tracked_cells.is_empty() {
        if !step.axes.is_empty() {
            return Err(place.wrong(
                "steady",
                "`steady = [...]` is missing: list the cells that must reach a steady state",
            ));
        }
        tracked_cells.push(Vec::new());
    }
    let rounds = Rounds {
        max: most,
        tracked: tracked_cells,
        figure: tracked(place)?,
        soak: place.time("soak")?.map(Nanos::new),
        written: place.number("written", 1..=1000)?,
    };
    Ok(Some(rounds))
}

/// `bs=4k rwmixread=0` as values in the order of the axes.
fn values_of(text: &str, step: &Step) -> Option<Vec<(String, String)>> {
    let named: Vec<(&str, &str)> = text
        .split_whitespace()
        .map(|pair| pair.split_once('='))
        .collect::<Option<_>>()?;
    let value = |axis: &Axis| {
        let (_, value) = named.iter().find(|(name, _)| *name == axis.name)?;
        axis.values
            .iter()
            .any(|known| known == value)
            .then(|| (axis.name.clone(), (*value).to_owned()))
    };
    let values: Vec<(String, String)> = step.axes.iter().map(value).collect::<Option<_>>()?;
    (values.len() == named.len()).then_some(values)
}
