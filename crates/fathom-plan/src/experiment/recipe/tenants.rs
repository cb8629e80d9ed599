//! Tenants of a recipe: each measured alone, then together as they join.

use fathom_model::ReadyFigure;

use super::profile::latency_limit_of;
use super::read::is_name;
use super::table::TableEntry;
use super::{Recipe, RecipeError, Step, Tenant};

/// The most tenants of a recipe.
const MOST: usize = 16;
/// The name of the step in which limits apply.
pub const LIMITED_STEP: &str = "limited";
/// Rates of `io_max`, as in `io.max` of the kernel. See Documentation/admin-guide/cgroup-v2.rst.
const RATES: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];

/// Reads the tenants of a recipe and adds their steps: each alone, one more in each stage, all with limits, and all as they join.
pub(super) fn add(top: &TableEntry<'_>, recipe: &mut Recipe) -> Result<(), RecipeError> {
    for place in top.tables("tenant")? {
        let tenant = tenant(&place)?;
        let is_known = |section: &String| {
            let mut known = recipe.tenants.iter().flat_map(|tenant| &tenant.sections);
            known.any(|known| known == section)
        };
        if let Some(twice) = tenant.sections.iter().find(|section| is_known(section)) {
            return Err(place.wrong("job", format!("two tenants have a job [{twice}]")));
        }
        if recipe.tenants.iter().any(|known| known.name == tenant.name) {
            return Err(place.wrong("name", format!("two tenants are named {}", tenant.name)));
        }
        recipe.tenants.push(tenant);
        if recipe.tenants.len() > MOST {
            return Err(place.wrong("name", format!("more than {MOST} tenants")));
        }
    }
    let tenants = &recipe.tenants;
    let all: Vec<usize> = (0..tenants.len()).collect();
    let names = |of: &[usize]| {
        let names: Vec<&str> = of.iter().map(|at| tenants[*at].name.as_str()).collect();
        names.join(", ")
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut add = |name: String, title: String, of: &[usize]| {
        steps.push(Step {
            name,
            title,
            job: Some(job_file(of.iter().map(|at| &tenants[*at]))),
            tenants: of.to_vec(),
            ..Step::default()
        });
    };
    for (at, tenant) in tenants.iter().enumerate() {
        let title = format!("{} alone: {}", tenant.name, tenant.title);
        add(format!("alone-{}", tenant.name), title, &[at]);
    }
    for stage in 2..=tenants.len() {
        let of = &all[..stage];
        add(
            format!("stage-{stage}"),
            format!("stage {stage}: {}", names(of)),
            of,
        );
    }
    let limited: Vec<(String, String)> = tenants
        .iter()
        .flat_map(|tenant| {
            tenant.sections.iter().flat_map(|section| {
                let of_section = move |(name, value): &(String, String)| {
                    (format!("{section}.{name}"), value.clone())
                };
                tenant.limited.iter().map(of_section)
            })
        })
        .collect();
    let is_restricted =
        |at: &usize| !tenants[*at].limited.is_empty() || !tenants[*at].io_max.is_empty();
    let restricted: Vec<usize> = all.iter().copied().filter(is_restricted).collect();
    if !restricted.is_empty() {
        let title = format!("all, with limits of {}", names(&restricted));
        add(LIMITED_STEP.to_owned(), title, &all);
    }
    if tenants.len() > 1 {
        add(
            "joining".to_owned(),
            "all, each joining a stage later".to_owned(),
            &all,
        );
    }
    for mut step in steps {
        if recipe.steps.iter().any(|known| known.name == step.name) {
            let problem = format!(
                "the step {} has the name of a stage of the tenants",
                step.name
            );
            return Err(top.wrong("step", problem));
        }
        if step.name == LIMITED_STEP {
            step.options.clone_from(&limited);
        }
        step.joining = step.name == "joining";
        recipe.steps.push(step);
    }
    Ok(())
}

/// Whether the figures of a cell contain it.
fn is_reported(figure: ReadyFigure) -> bool {
    match figure {
        ReadyFigure::Mean => true,
        ReadyFigure::Percentile(percent) => [50.0, 90.0, 99.0, 99.9, 99.99].contains(&percent),
    }
}

/// The jobs of tenants; those of a tenant are one reporting group.
fn job_file<'a>(tenants: impl Iterator<Item = &'a Tenant>) -> String {
    let mut text = String::from("[global]\ngroup_reporting=1\n");
    for tenant in tenants {
        let mut is_first = true;
        for line in tenant.job.lines() {
            text += &format!("{line}\n");
            if std::mem::take(&mut is_first) {
                text += "new_group=1\n";
            }
        }
    }
    text
}

fn tenant(place: &TableEntry<'_>) -> Result<Tenant, RecipeError> {
    place.only(&[
        "name", "title", "source", "job", "app", "figure", "limit", "limited", "io_max",
    ])?;
    let name = place.required("name")?;
    if !is_name(&name) {
        return Err(place.wrong(
            "name",
            "a name consists of lower-case letters, digits and `-`",
        ));
    }
    let app = place.text("app")?;
    let job = match &app {
        Some(_) if !place.span("job").is_empty() || !place.span("limited").is_empty() => {
            let problem = "a tenant has either `app` or `job`, and `limited` has options of a job: `io_max` limits both";
            return Err(place.wrong("app", problem));
        }
        Some(_) => format!("[{name}]"),
        None => place.required("job")?.trim().to_owned(),
    };
    let section = |line: &str| -> Option<String> {
        Some(line.trim().strip_prefix('[')?.strip_suffix(']')?.to_owned())
    };
    let sections: Vec<String> = job.lines().filter_map(section).collect();
    let is_global = sections.iter().any(|section| section == "global");
    if is_global || job.lines().next().and_then(section).is_none() {
        let problem =
            "the job of a tenant has named sections from its first line on, and no [global]";
        return Err(place.wrong("job", problem));
    }
    let limited = place.options("limited")?;
    let io_max = io_max(place)?;
    let limit = match place.text("limit")? {
        Some(_) => Some(latency_limit_of(place)?).filter(|(figure, _)| is_reported(*figure)),
        None => None,
    };
    if limit.is_none() && !place.span("figure").is_empty() {
        let problem =
            "figure must be mean, p50, p90, p99, p99.9 or p99.99, and needs `limit = \"20ms\"`";
        return Err(place.wrong("figure", problem));
    }
    Ok(Tenant {
        title: place.text("title")?.unwrap_or_else(|| match &app {
            Some(app) => format!("transactions of {app}"),
            None => name.clone(),
        }),
        name,
        job,
        app,
        sections,
        limit,
        limited,
        io_max,
    })
}

/// Rates of the kernel by their names.
fn io_max(place: &TableEntry<'_>) -> Result<Vec<(String, u64)>, RecipeError> {
    let Some(entry) = place.table("io_max")? else {
        return Ok(Vec::new());
    };
    entry.only(&RATES)?;
    let mut rates = Vec::new();
    for name in RATES {
        let rate = match name {
            "rbps" | "wbps" => entry.size(name)?,
            _ => entry.number(name, 1..=u32::MAX)?.map(u64::from),
        };
        rates.extend(rate.map(|rate| (name.to_owned(), rate)));
    }
    Ok(rates)
}
