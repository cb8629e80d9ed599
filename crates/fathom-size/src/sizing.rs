//! Which drives a load needs, and how many.

use fathom_model::DerivedCell::Calculated;
use fathom_model::format::{bytes, duration, thousands};
use fathom_model::{
    Derivation, DerivationInput, DerivedAnswer, DerivedCell, DerivedTable, HostLink,
};

use crate::curve::{DriveAtLimit, DriveLoad, iops_at_limit, latency_at, latency_derivation};
use crate::derive::{by_method, calculate, from, input, text};
use crate::drive::{Drive, Medium};
use crate::load::Load;
use crate::measured::{CurveError, MeasuredCurve};
use crate::price::Prices;
use crate::queue::LatencyFigure;
use crate::raid::{RaidError, RaidLevel};
use crate::tables::{link_rate, write_amplification};

/// More drives than this are beyond the models.
const MOST_DRIVES: u32 = 100_000;

/// A limit on a latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What is limited.
    pub figure: LatencyFigure,
    /// Its largest value, ns.
    pub ns: f64,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <= {}", self.figure, duration(self.ns))
    }
}

/// A question about size.
#[derive(Clone, Debug)]
pub struct Request {
    /// The load.
    pub load: Load,
    /// Where the load is from: `the option`, or the name of a result.
    pub load_source: String,
    /// All of these hold.
    pub limits: Vec<Limit>,
    /// Bytes that must be usable.
    pub capacity: Option<f64>,
    /// Drives to choose from.
    pub drives: Vec<Drive>,
    /// Levels to choose from.
    pub levels: Vec<RaidLevel>,
    /// Prices of one drive each.
    pub prices: Prices,
    /// Answer for so many drives instead of the smallest number.
    pub count: Option<u32>,
    /// Most drives of a RAID group with parity.
    pub group: u32,
    /// Share of the load of a drive that stays free, 0 to 0.9.
    pub headroom: f64,
    /// Share of the usable capacity that may be filled.
    pub fill: f64,
    /// Share of a drive's time that a rebuild takes.
    pub rebuild: f64,
    /// Years that the flash has to last.
    pub years: f64,
    /// Spare drives.
    pub spares: u32,
    /// The link that all drives share.
    pub uplink: Option<HostLink>,
    /// I/Os per second that one controller carries.
    pub controller_iops: Option<f64>,
    /// The measured curve that replaces that of the only drive.
    pub curve: Option<MeasuredCurve>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// An array that cannot be.
    #[error(transparent)]
    Raid(#[from] RaidError),
    /// The measured curve lacks points.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A measured curve needs one drive for capacity, link and endurance.
    #[error(
        "a measured device replaces the curve of one drive; --drives names {0}: name the one whose capacity and endurance it has"
    )]
    OneDrive(usize),
    /// No option keeps the limits.
    #[error("no option carries this load:\n{}", .0.join("\n"))]
    None(Vec<String>),
}

/// One possible purchase.
#[derive(Clone, Debug)]
pub struct Choice {
    /// `12 x hdd-7200 in RAID 10`.
    pub name: String,
    /// The drive.
    pub drive: String,
    /// Level of the array.
    pub level: RaidLevel,
    /// Number of drives, with spares.
    pub drives: u32,
    /// Requirements and the number of drives for each.
    pub needs: Vec<(&'static str, u32)>,
    /// The requirement that decides.
    pub binds: &'static str,
    /// The first limit's figure at the load, ns.
    pub latency: f64,
    /// The same in a group with a failed drive that is being rebuilt.
    pub degraded: Option<f64>,
    /// Price of all drives.
    pub cost: Option<f64>,
    /// Drives if each does so much less or more than its curve.
    pub range: (u32, u32),
    cells: Vec<DerivedCell>,
    derivations: Vec<Derivation>,
}

/// How far a drive's rate may be from its curve, with the reason.
const fn tolerance(medium: Medium, measured: bool) -> (f64, &'static str) {
    match (measured, medium) {
        (true, _) => (0.05, "5 %: interpolation between measured points"),
        (false, Medium::Disk) => (
            0.15,
            "15 %: RAID 5 of disks was measured at 3.3 to 3.8 reads for each write instead of 4, access times within 8 %",
        ),
        (false, Medium::Flash) => (
            0.26,
            "26 %: measured SATA SSDs reached 74 to 99 % of their data sheets",
        ),
    }
}

struct Sizer<'a> {
    request: &'a Request,
    drive: &'a Drive,
    level: RaidLevel,
    load: DriveLoad,
}

impl<'a> Sizer<'a> {
    fn new(request: &'a Request, drive: &'a Drive, level: RaidLevel) -> Sizer<'a> {
        let load = request.load;
        // Small writes on parity levels read old data and parity first.
        let read_operations = match level {
            RaidLevel::Raid5 if load.random => 2.0,
            RaidLevel::Raid6 if load.random => 3.0,
            _ => 0.0,
        };
        let writes = 1.0 - load.reads;
        let operations = load.reads + writes * level.write_penalty();
        Sizer {
            request,
            drive,
            level,
            load: DriveLoad {
                block: load.block,
                reads: if load.random {
                    (load.reads + writes * read_operations) / operations
                } else {
                    load.reads
                },
                burstiness: load.burstiness,
            },
        }
    }

    fn operations(&self) -> Derivation {
        self.level.operations(self.request.load.reads)
    }

    /// The smallest rate of all limits; for sequential loads the link and the medium decide.
    fn at_limits(&self) -> Result<Option<DriveAtLimit>, (Limit, f64)> {
        let mut best: Option<DriveAtLimit> = None;
        if !self.request.load.random {
            return Ok(None);
        }
        for limit in &self.request.limits {
            let found = match &self.request.curve {
                Some(curve) => curve
                    .iops_at_limit(self.load, limit.figure, limit.ns)
                    .map_err(|error| match error {
                        CurveError::Above(ns) => ns,
                        CurveError::TooFew { .. } => f64::NAN,
                    }),
                None => iops_at_limit(self.drive, self.load, limit.figure, limit.ns),
            };
            let found = found.map_err(|ns| (*limit, ns))?;
            if best
                .as_ref()
                .is_none_or(|best| found.iops.value < best.iops.value)
            {
                best = Some(found);
            }
        }
        Ok(best)
    }

    fn latency(&self, iops: f64) -> f64 {
        let figure = self.figure();
        match &self.request.curve {
            Some(curve) => curve.latency_at(self.load, figure, iops),
            None => latency_at(self.drive, self.load, figure, iops),
        }
    }

    /// Bytes per second of one drive, MB/s.
    fn bandwidth(&self) -> Derivation {
        let own = DerivationInput {
            name: "own_link_mb_s".to_owned(),
            ..from(&link_rate(self.drive.link))
        };
        match self.drive.medium {
            Medium::Disk => calculate(
                "drive_mb_s",
                "MB/s",
                "min(inner_mb_s, own_link_mb_s)",
                vec![self.drive.given("inner_mb_s"), own],
            ),
            Medium::Flash => calculate(
                "drive_mb_s",
                "MB/s",
                "min(1 / (reads / read_mb_s + (1 - reads) / write_mb_s), own_link_mb_s)",
                vec![
                    input(
                        "reads",
                        self.load.reads,
                        "",
                        "the load, with the operations of the RAID level",
                    ),
                    self.drive.given("read_mb_s"),
                    self.drive.given("write_mb_s"),
                    own,
                ],
            ),
        }
    }

    /// The smallest possible number of drives that is at least `least`.
    fn possible(&self, least: u32) -> Option<u32> {
        // A level that refuses a number accepts the next one.
        (least.max(self.level.least_drives())..=MOST_DRIVES)
            .take(2)
            .find(|drives| self.level.check(*drives).is_ok())
    }

    /// The smallest number of drives with this usable capacity; [`u32::MAX`] if [`MOST_DRIVES`] are too few.
    fn for_capacity(&self, bytes: f64) -> u32 {
        let usable = |drives: u32| {
            let data = self.level.data_drives(drives, self.request.group).value;
            data * self.drive.given("capacity_gb").value * 1e9 * self.request.fill
        };
        let (mut low, mut high) = (self.level.least_drives().saturating_sub(1), MOST_DRIVES);
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            if usable(middle) >= bytes * (1.0 - 1e-12) {
                high = middle;
            } else {
                low = middle;
            }
        }
        // Another group costs a parity: the number is not quite monotonous.
        (low.saturating_sub(4).max(1)..=high)
            .find(|n| usable(*n) >= bytes * (1.0 - 1e-12))
            .unwrap_or(u32::MAX)
    }

    /// Needs and their derivations; `factor` scales the rate of a drive.
    fn needs(
        &self,
        at: Option<&DriveAtLimit>,
        factor: f64,
    ) -> Vec<(&'static str, u32, Option<Derivation>)> {
        let request = self.request;
        let load = &request.load;
        let count =
            |derivation: &Derivation| derivation.value.clamp(0.0, f64::from(u32::MAX)) as u32;
        let free = input("headroom", request.headroom, "", "option");
        let rate = input("load_iops", load.iops, "1/s", request.load_source.clone());
        let mut needs = Vec::new();
        if let Some(at) = at.filter(|_| load.random) {
            let mut drive_iops = from(&at.iops);
            drive_iops.value *= factor;
            let performance = calculate(
                "for_latency",
                "",
                "ceil(load_iops * operations_per_io / (drive_iops * (1 - headroom)))",
                vec![
                    rate.clone(),
                    from(&self.operations()),
                    drive_iops.clone(),
                    free.clone(),
                ],
            );
            needs.push(("latency", count(&performance), Some(performance)));
            if self.level.is_redundant() {
                let failed = calculate(
                    "for_failure",
                    "",
                    "ceil(load_iops * operations_per_io / (drive_iops * (1 - rebuild))) + 1",
                    vec![
                        rate.clone(),
                        from(&self.operations()),
                        drive_iops,
                        self.rebuild_share(),
                    ],
                );
                needs.push(("failure", count(&failed), Some(failed)));
            }
        }
        if let Some(capacity) = request.capacity {
            let drives = self.for_capacity(capacity);
            let data = self.level.data_drives(drives, request.group);
            let usable = calculate(
                "usable_tb",
                "TB",
                "data_drives * capacity_gb * fill / 1000",
                vec![
                    from(&data),
                    self.drive.given("capacity_gb"),
                    input("fill", request.fill, "", "option"),
                ],
            );
            needs.push(("capacity", drives, Some(usable)));
        }
        let operations = if load.random {
            self.operations()
        } else {
            // Whole stripes: the data and their redundancy, nothing is read.
            calculate(
                "operations_per_io",
                "",
                "reads + (1 - reads) * redundancy",
                vec![
                    input("reads", load.reads, "", "the load"),
                    input(
                        "redundancy",
                        self.stripe_redundancy(),
                        "",
                        "bytes written for each byte, whole stripes",
                    ),
                ],
            )
        };
        let bandwidth = calculate(
            "for_bandwidth",
            "",
            "ceil(load_iops * operations_per_io * block / 1000000 / (drive_mb_s * (1 - headroom)))",
            vec![
                rate.clone(),
                from(&operations),
                input("block", load.block, "bytes", "the load"),
                from(&self.bandwidth()),
                free,
            ],
        );
        needs.push(("bandwidth", count(&bandwidth), Some(bandwidth)));
        if let Some(endurance) = self.endurance(rate) {
            needs.push(("endurance", count(&endurance), Some(endurance)));
        }
        needs
    }

    /// Bytes written for each byte of data in whole stripes.
    fn stripe_redundancy(&self) -> f64 {
        let group = self.request.group;
        match self.level.parity_drives() {
            Some(parity) => f64::from(group) / f64::from(group - parity.min(group - 1)),
            None => 2.0,
        }
    }

    fn endurance(&self, rate: DerivationInput) -> Option<Derivation> {
        let request = self.request;
        let writes = 1.0 - request.load.reads;
        if writes <= 0.0 || self.drive.medium == Medium::Disk {
            return None;
        }
        let per_day = calculate(
            "written_tb_day",
            "TB/day",
            "load_iops * writes * drives_written * max(block, 4096) * 86400 / 1000000000000",
            vec![
                rate,
                input("writes", writes, "", "the load"),
                input(
                    "drives_written",
                    if request.load.random {
                        self.level.drives_written()
                    } else {
                        self.stripe_redundancy()
                    },
                    "",
                    "drives that one write changes, data and redundancy; bytes for each byte in whole stripes",
                ),
                input("block", request.load.block, "bytes", "the load"),
            ],
        );
        let years = input("years", request.years, "years", "option");
        if let Some(tbw) = self.drive.figure("tbw") {
            Some(calculate(
                "for_endurance",
                "",
                "ceil(written_tb_day * 365 * years / tbw)",
                vec![from(&per_day), years, tbw.clone()],
            ))
        } else {
            let dwpd = self.drive.figure("dwpd")?;
            Some(calculate(
                "for_endurance",
                "",
                "ceil(written_tb_day * years / (dwpd * capacity_gb / 1000 * warranty_years))",
                vec![
                    from(&per_day),
                    years,
                    dwpd.clone(),
                    self.drive.given("capacity_gb"),
                    self.drive
                        .or_assumed("warranty_years", 5.0, "years", "usual warranty"),
                ],
            ))
        }
    }

    /// The number of drives, with spares, and what decides it.
    fn total(
        &self,
        needs: &[(&'static str, u32, Option<Derivation>)],
    ) -> Option<(u32, &'static str)> {
        let (binds, most) = needs
            .iter()
            .map(|(what, drives, _)| (*what, *drives))
            .max_by(|a, b| a.1.cmp(&b.1).then(std::cmp::Ordering::Greater))?;
        let least = self.level.least_drives();
        let drives = self.possible(most)?;
        Some((
            drives,
            if most < least {
                "least of the level"
            } else {
                binds
            },
        ))
    }

    fn choice(&self) -> Result<Choice, String> {
        let request = self.request;
        let (drive, level) = (self.drive, self.level);
        let name = format!("{} in {level}", drive.id);
        let at = self.at_limits().map_err(|(limit, ns)| {
            format!(
                "{name}: {} of one idle drive is {}, above the limit of {}",
                limit.figure,
                duration(ns),
                duration(limit.ns)
            )
        })?;
        let needs = self.needs(at.as_ref(), 1.0);
        let smallest = self.total(&needs);
        let needed = needs.iter().map(|(_, n, _)| *n).max().unwrap_or(0);
        let too_many = || {
            if level == RaidLevel::Raid1 {
                format!(
                    "{name}: needs {} drives, and RAID 1 has exactly 2",
                    thousands(u64::from(needed))
                )
            } else {
                let drives = match needed {
                    u32::MAX => format!("more than {}", thousands(u64::from(MOST_DRIVES))),
                    known => thousands(u64::from(known)),
                };
                format!("{name}: beyond the model's range, {drives} drives")
            }
        };
        let (drives, binds) = match request.count {
            Some(count) => {
                let missing: Vec<String> = needs
                    .iter()
                    .filter(|(_, n, _)| *n > count)
                    .map(|(what, n, _)| format!("{n} for {what}"))
                    .collect();
                if !missing.is_empty() {
                    return Err(format!(
                        "{name}: {count} drives are too few; needs {}",
                        missing.join(", ")
                    ));
                }
                (count, smallest.map_or("count", |(_, binds)| binds))
            }
            None => smallest.ok_or_else(too_many)?,
        };
        if level == RaidLevel::Raid1 && needed > 2 {
            return Err(too_many());
        }
        let load_per_drive = request.load.iops * self.operations().value / f64::from(drives);
        let latency = if request.load.random {
            self.latency(load_per_drive)
        } else {
            f64::NAN
        };
        // Survivors of the group answer for the failed drive and rebuild it.
        let degraded = (level.is_redundant() && request.load.random).then(|| {
            let extra = request.load.iops * request.load.reads / f64::from(drives);
            self.latency((load_per_drive + extra) / (1.0 - request.rebuild))
        });
        let (share, _) = tolerance(drive.medium, request.curve.is_some());
        let with = |factor: f64| {
            let found = self.total(&self.needs(at.as_ref(), factor));
            found.map_or(drives, |(drives, _)| drives) + request.spares
        };
        let range = (with(1.0 + share), with(1.0 - share));
        let total = drives + request.spares;
        let cost = request.prices.of.get(&drive.id).map(|(price, from)| {
            calculate(
                "cost",
                &request.prices.currency,
                "drives * price",
                vec![
                    input("drives", f64::from(total), "", "this answer"),
                    input("price", *price, &request.prices.currency, from.clone()),
                ],
            )
        });
        let mut choice = Choice {
            name: format!("{} x {name}", count_of(drives)),
            drive: drive.id.clone(),
            level,
            drives: total,
            binds,
            latency,
            degraded,
            cost: cost.as_ref().map(|cost| cost.value),
            range,
            needs: needs.iter().map(|(what, n, _)| (*what, *n)).collect(),
            cells: Vec::new(),
            derivations: needs
                .into_iter()
                .filter_map(|(_, _, derivation)| derivation)
                .collect(),
        };
        self.fill(&mut choice, drives, at.as_ref(), cost);
        Ok(choice)
    }

    fn fill(
        &self,
        choice: &mut Choice,
        drives: u32,
        at: Option<&DriveAtLimit>,
        cost: Option<Derivation>,
    ) {
        let request = self.request;
        let total = input("drives", f64::from(choice.drives), "", "this answer");
        let data = self.level.data_drives(drives, request.group);
        let usable = calculate(
            "usable_tb",
            "TB",
            "data_drives * capacity_gb / 1000",
            vec![from(&data), self.drive.given("capacity_gb")],
        );
        let array_iops = at.filter(|_| request.load.random).map(|at| {
            calculate(
                "array_iops",
                "1/s",
                "working_drives * drive_iops / operations_per_io",
                vec![
                    input(
                        "working_drives",
                        f64::from(drives),
                        "",
                        "this answer, without spares",
                    ),
                    from(&at.iops),
                    from(&self.operations()),
                ],
            )
        });
        let mut cells = vec![
            text(self.drive.id.clone()),
            text(self.level.to_string().replace("RAID ", "")),
            DerivedCell::Given(total.clone()),
            text(choice.binds),
        ];
        if request.load.random {
            let formula = "load_iops * operations_per_io / working_drives";
            cells.push(if choice.latency.is_finite() {
                Calculated(self.response("response", choice.latency, formula, drives))
            } else {
                text("-")
            });
            let formula =
                "load_iops * (operations_per_io + reads) / working_drives / (1 - rebuild)";
            cells.push(match choice.degraded {
                Some(ns) if ns.is_finite() => {
                    Calculated(self.response("degraded_response", ns, formula, drives))
                }
                Some(_) => text("overload"),
                None => text("-"),
            });
            cells.push(array_iops.clone().map_or_else(|| text("-"), Calculated));
        }
        cells.push(Calculated(usable.clone()));
        if !request.prices.currency.is_empty() {
            let unit = &request.prices.currency;
            match &cost {
                Some(cost) => {
                    cells.push(Calculated(cost.clone()));
                    if let Some(iops) = &array_iops {
                        cells.push(Calculated(calculate(
                            "cost_per_iops",
                            unit,
                            "cost / array_iops",
                            vec![from(cost), from(iops)],
                        )));
                    }
                    cells.push(Calculated(calculate(
                        "cost_per_gb",
                        unit,
                        "cost / (usable_tb * 1000)",
                        vec![from(cost), from(&usable)],
                    )));
                }
                None => {
                    cells.extend([text("no price"), text("-")]);
                    cells.extend(array_iops.as_ref().map(|_| text("-")));
                }
            }
        }
        choice.cells = cells;
        choice.derivations.extend(self.facts(&total));
    }

    /// A latency of `ns` with its derivation from the load of one drive, which `formula` gives.
    fn response(&self, name: &str, ns: f64, formula: &str, drives: u32) -> Derivation {
        let request = self.request;
        let source = request.load_source.clone();
        let working = "this answer, without spares";
        let mut inputs = vec![
            input("load_iops", request.load.iops, "1/s", source),
            from(&self.operations()),
            input("reads", request.load.reads, "", "the load"),
            input("working_drives", f64::from(drives), "", working),
            self.rebuild_share(),
        ];
        inputs.retain(|input| formula.contains(&input.name));
        let drive_load = calculate("drive_load", "1/s", formula, inputs);
        match &request.curve {
            Some(curve) => {
                let method = format!("interpolated between the points of {}", curve.source);
                by_method(name, (ns / 1e6, "ms"), &method, vec![from(&drive_load)])
            }
            None => latency_derivation(name, self.drive, self.load, self.figure(), &drive_load),
        }
    }

    /// The figure of the first limit, which the table shows.
    fn figure(&self) -> LatencyFigure {
        let first = self.request.limits.first();
        first.map_or(LatencyFigure::Mean, |limit| limit.figure)
    }

    /// Power, rebuild, write amplification, and how many shared links and controllers the load fills.
    fn facts(&self, drives: &DerivationInput) -> Vec<Derivation> {
        let request = self.request;
        let mut facts = Vec::new();
        if let Some(watts) = self.drive.figure("active_w") {
            let inputs = vec![drives.clone(), watts.clone()];
            facts.push(calculate("power", "W", "drives * active_w", inputs));
        }
        if self.level.is_redundant() && request.rebuild > 0.0 {
            facts.push(self.rebuild_time());
        }
        if self.drive.medium == Medium::Flash
            && request.load.reads < 1.0
            && let Some(op) = self.drive.figure("overprovisioning")
            && request.load.random
        {
            facts.push(write_amplification(op.clone()));
        }
        let load_iops = || {
            let source = request.load_source.clone();
            input("load_iops", request.load.iops, "1/s", source)
        };
        let headroom = || input("headroom", request.headroom, "", "option");
        if let Some(link) = request.uplink {
            facts.push(calculate(
                "uplinks",
                "",
                "ceil(load_iops * block / 1000000 / (usable_mb_s * (1 - headroom)))",
                vec![
                    load_iops(),
                    input("block", request.load.block, "bytes", "the load"),
                    from(&link_rate(link)),
                    headroom(),
                ],
            ));
        }
        if let Some(most) = request.controller_iops {
            facts.push(calculate(
                "controllers",
                "",
                "ceil(load_iops / (controller_iops * (1 - headroom)))",
                vec![
                    load_iops(),
                    input("controller_iops", most, "1/s", "option"),
                    headroom(),
                ],
            ));
        }
        facts
    }

    /// Hours to write a drive again with the share of its time that a rebuild takes.
    fn rebuild_time(&self) -> Derivation {
        let (formula, rates) = match self.drive.medium {
            Medium::Disk => (
                "rebuild * (outer_mb_s + inner_mb_s) / 2",
                ["outer_mb_s", "inner_mb_s"],
            ),
            Medium::Flash => (
                "rebuild * min(read_mb_s, write_mb_s)",
                ["read_mb_s", "write_mb_s"],
            ),
        };
        let [first, second] = rates.map(|rate| self.drive.given(rate));
        let rate = calculate(
            "rebuild_mb_s",
            "MB/s",
            formula,
            vec![self.rebuild_share(), first, second],
        );
        calculate(
            "rebuild_time",
            "h",
            "capacity_gb * 1000 / rebuild_mb_s / 3600",
            vec![self.drive.given("capacity_gb"), from(&rate)],
        )
    }

    fn rebuild_share(&self) -> DerivationInput {
        let share = self.request.rebuild;
        input("rebuild", share, "", "option: share of the drives' time")
    }
}

impl Choice {
    fn derived(&self, name: &str) -> Option<f64> {
        let found = self
            .derivations
            .iter()
            .find(|derivation| derivation.name == name);
        found.map(|derivation| derivation.value)
    }
}

/// All options that carry the load, cheapest or fewest drives first, and why others do not.
///
/// # Errors
/// An impossible array, or a measured curve without the points that the load needs.
pub fn choices(request: &Request) -> Result<(Vec<Choice>, Vec<String>), SizeError> {
    if request.curve.is_some() && request.drives.len() != 1 {
        return Err(SizeError::OneDrive(request.drives.len()));
    }
    if let Some(count) = request.count {
        request
            .levels
            .iter()
            .try_for_each(|level| level.check(count))?;
    }
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for drive in &request.drives {
        for level in &request.levels {
            let sizer = Sizer::new(request, drive, *level);
            if let Some(curve) = &request.curve {
                for limit in &request.limits {
                    let found = curve.iops_at_limit(sizer.load, limit.figure, limit.ns);
                    if let Err(error @ CurveError::TooFew { .. }) = found {
                        return Err(error.into());
                    }
                }
            }
            match sizer.choice() {
                Ok(choice) => found.push(choice),
                Err(why) => refused.push(why),
            }
        }
    }
    found.sort_by(|a, b| {
        let key = |choice: &Choice| (choice.cost.unwrap_or(f64::INFINITY), choice.drives);
        key(a).0.total_cmp(&key(b).0).then(a.drives.cmp(&b.drives))
    });
    Ok((found, refused))
}

/// The answer to a request.
///
/// # Errors
/// As [`choices`], and when no option carries the load.
pub fn size(request: &Request) -> Result<DerivedAnswer, SizeError> {
    let (choices, refused) = choices(request)?;
    if choices.is_empty() {
        return Err(SizeError::None(refused));
    }
    let figure = request
        .limits
        .first()
        .map_or("mean".to_owned(), |limit| limit.figure.to_string());
    let mut columns = ["drive", "RAID", "drives", "decided by"]
        .map(str::to_owned)
        .to_vec();
    if request.load.random {
        columns.extend([
            format!("{figure}, ms"),
            "while rebuilding, ms".to_owned(),
            "IOPS within limits".to_owned(),
        ]);
    }
    columns.push("usable, TB".to_owned());
    if !request.prices.currency.is_empty() {
        let unit = &request.prices.currency;
        columns.push(format!("cost, {unit}"));
        if request.load.random {
            columns.push(format!("{unit} per IOPS"));
        }
        columns.push(format!("{unit} per GB"));
    }
    let order = if choices.iter().any(|choice| choice.cost.is_some()) {
        "cheapest first"
    } else {
        "fewest drives first; give prices with --price to sort by cost"
    };
    let table = DerivedTable {
        caption: format!("Options, {order}"),
        columns,
        rows: choices.iter().map(|choice| choice.cells.clone()).collect(),
    };
    let mut notes: Vec<String> = refused
        .into_iter()
        .map(|why| format!("Left out: {why}"))
        .collect();
    notes.extend(assumptions(request));
    Ok(DerivedAnswer {
        question: question(request),
        tables: vec![table],
        answer: recommendation(request, &choices),
        notes,
        derivations: choices
            .iter()
            .map(|choice| (choice.name.clone(), choice.derivations.clone()))
            .collect(),
    })
}

/// A number of drives as sentences have it.
fn count_of(drives: u32) -> String {
    thousands(u64::from(drives))
}

/// A quantity with so many decimals at most; thousands are grouped.
fn amount(value: f64, decimals: i32) -> String {
    if value >= 1000.0 {
        return thousands(value.round() as u64);
    }
    let scale = 10_f64.powi(decimals);
    ((value * scale).round() / scale).to_string()
}

fn question(request: &Request) -> Vec<String> {
    let load = &request.load;
    let percent = |share: f64| format!("{} %", (share * 1000.0).round() / 10.0);
    let mut line = format!(
        "Load: {} IOPS, {} reads, {} {}, {} MB/s",
        thousands(load.iops.round() as u64),
        percent(load.reads),
        bytes(load.block as u64),
        if load.random { "random" } else { "sequential" },
        amount(load.iops * load.block / 1e6, 1)
    );
    if load.burstiness != 1.0 {
        line += &format!(", burstiness {}", load.burstiness);
    }
    line += &format!(" ({})", request.load_source);
    let limits: Vec<String> = request.limits.iter().map(ToString::to_string).collect();
    let mut wanted = Vec::new();
    if !limits.is_empty() && load.random {
        wanted.push(limits.join(" and "));
    }
    if let Some(capacity) = request.capacity {
        wanted.push(format!("{} TB usable", amount(capacity / 1e12, 3)));
    }
    let mut lines = vec![line];
    if !wanted.is_empty() {
        lines.push(format!("Wanted: {}", wanted.join(", ")));
    }
    lines
}

fn recommendation(request: &Request, choices: &[Choice]) -> Vec<String> {
    let safe = choices.iter().find(|choice| choice.level.is_redundant());
    let best = safe.unwrap_or(&choices[0]);
    let medium = request
        .drives
        .iter()
        .find(|drive| drive.id == best.drive)
        .map_or(Medium::Disk, |drive| drive.medium);
    let (_, why) = tolerance(medium, request.curve.is_some());
    let currency = &request.prices.currency;
    let cost = best.cost.map_or(String::new(), |cost| {
        format!(", {} {currency}", thousands(cost.round() as u64))
    });
    let mut lines = vec![format!(
        "Recommended: {}{cost}. {} decides the number{}.",
        best.name,
        match best.binds {
            "latency" => "The latency limit",
            "failure" => "One failed drive with its rebuild",
            "capacity" => "The capacity",
            "bandwidth" => "The bandwidth",
            "endurance" => "The endurance",
            _ => "The least number of drives of the level",
        },
        if best.latency.is_finite() && !request.limits.is_empty() {
            format!(
                "; {} is predicted at {}",
                request.limits[0].figure,
                duration(best.latency)
            )
        } else {
            String::new()
        }
    )];
    let (low, high) = best.range;
    let range = if low == high {
        format!("The number stays at {}", count_of(low))
    } else {
        format!("The number is {} to {}", count_of(low), count_of(high))
    };
    lines.push(format!(
        "{range} if a drive does more or less than its curve by {why}."
    ));
    let rivals: Vec<&Choice> = choices
        .iter()
        .filter(|other| other.level.is_redundant() && other.name != best.name)
        // An option without a price cannot be compared with one that has a price.
        .filter(|other| other.cost.is_some() == best.cost.is_some())
        .filter(|other| {
            // Its good case against the bad case of the best.
            let per_drive = |choice: &Choice| {
                choice
                    .cost
                    .map_or(1.0, |cost| cost / f64::from(choice.drives.max(1)))
            };
            f64::from(other.range.0) * per_drive(other) < f64::from(high) * per_drive(best)
        })
        .collect();
    if rivals.is_empty() {
        lines.push("No other option is better within this uncertainty.".to_owned());
    } else {
        let names: Vec<&str> = rivals.iter().map(|choice| choice.name.as_str()).collect();
        lines.push(format!(
            "Within this uncertainty these are as good: {}. Measure one drive of each and give it with --curve.",
            names.join(", ")
        ));
    }
    match best.degraded {
        Some(ns) if !ns.is_finite() => lines.push(format!(
            "While a drive is rebuilt, its group is overloaded: the survivors do its reads too. Use a smaller rebuild share{}.",
            match best.level {
                RaidLevel::Raid5 | RaidLevel::Raid6 => ", more drives or RAID 10",
                _ => " or more drives",
            }
        )),
        Some(ns) if request.limits.first().is_some_and(|limit| ns > limit.ns) => lines.push(format!(
            "While a drive is rebuilt, its group exceeds the limit: {}.",
            duration(ns)
        )),
        _ => {}
    }
    if safe.is_none() {
        lines.push("None of these options survives the failure of a drive.".to_owned());
    }
    let mut facts = Vec::new();
    for (name, label, unit) in [
        ("rebuild_time", "rebuild of a drive", "h"),
        ("power", "power", "W"),
        ("uplinks", "links to the host", ""),
        ("controllers", "controllers", ""),
        (
            "write_amplification",
            "write amplification of uniform random writes",
            "",
        ),
    ] {
        if let Some(value) = best.derived(name) {
            facts.push(
                format!("{label} {} {unit}", amount(value, 1))
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    let needs: Vec<String> = best
        .needs
        .iter()
        .map(|(what, n)| format!("{} for {what}", count_of(*n)))
        .collect();
    lines.push(format!("Drives needed: {}.", needs.join(", ")));
    if !facts.is_empty() {
        lines.push(format!("Also: {}.", facts.join(", ")));
    }
    lines
}

fn assumptions(request: &Request) -> Vec<String> {
    let percent = |share: f64| format!("{} %", (share * 1000.0).round() / 10.0);
    let mut lines = vec![format!(
        "Assumed: headroom {}, filled to {}, RAID groups of at most {} drives, rebuild with {} of a drive's time, {} years.",
        percent(request.headroom),
        percent(request.fill),
        request.group,
        percent(request.rebuild),
        request.years
    )];
    if request.load.random {
        lines.push(
            "The limit holds for each operation of a drive. A small write on RAID 5 or 6 without a write cache is two of them in a row.".to_owned(),
        );
    }
    if request
        .drives
        .iter()
        .any(|drive| drive.medium == Medium::Flash)
        && request.load.reads < 1.0
    {
        lines.push(
            "Endurance: the rated bytes of a data sheet include the write amplification of its own test (JESD219).".to_owned(),
        );
    }
    if request.curve.is_some() {
        lines.push("The measured curve is that of a closed loop; loads that arrive independently wait longer near its end.".to_owned());
    }
    lines
}
