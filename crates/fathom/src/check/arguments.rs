//! The figures and claims among the arguments of `fathom check`.

use fathom_analyse::{NumberError, parse_figure};
use fathom_cli::CheckArgs;
use fathom_import::ImportedRun;
use fathom_model::{AuthorClaims, Direction, ImportedDirection, ImportedFigures};

/// What is checked.
#[derive(Debug)]
pub(super) struct Request {
    pub args: CheckArgs,
    /// Figures given as options.
    pub figures: Option<ImportedFigures>,
    /// Figures that are malformed.
    pub malformed: Vec<NumberError>,
    claims: AuthorClaims,
}

impl Request {
    pub(super) fn new(args: CheckArgs) -> Self {
        let mut malformed = Vec::new();
        let mut figure = |text: &Option<String>| {
            let figure = parse_figure(text.as_deref()?);
            figure.map_err(|error| malformed.push(error)).ok()
        };
        let iops = figure(&args.iops);
        let claims = AuthorClaims {
            in_flight: figure(&args.claim_inflight),
            ceiling: figure(&args.claim_ceiling).map(|mb| mb * 1e6),
            pattern: args.claim_pattern.clone(),
            ..AuthorClaims::default()
        };
        let mut request = Request {
            figures: None,
            malformed,
            claims,
            args,
        };
        request.figures = iops.map(|iops| request.figures_of(iops));
        request
    }

    fn figures_of(&self, iops: f64) -> ImportedFigures {
        let args = &self.args;
        let is_write = args.rw.as_ref().is_some_and(|rw| rw.contains("write"));
        let stream = ImportedDirection {
            direction: if is_write {
                Direction::Write
            } else {
                Direction::Read
            },
            iops,
            latency_ns: args.latency_ns,
            is_median: false,
        };
        ImportedFigures {
            rw: args.rw.clone(),
            streams: vec![stream],
            block: args.bs.map(|size| size.get()),
            depth: args.iodepth.or(Some(1)),
            jobs: args.numjobs,
            per_job: args.per_job,
            closed: true,
            link: args.link,
            links: args.links,
            claims: self.claims.clone(),
            ..ImportedFigures::default()
        }
    }

    /// Adds what a result does not contain: the link of its device, and the claims.
    pub(super) fn complete(&self, mut run: ImportedRun) -> ImportedRun {
        run.figures.link = self.args.link;
        run.figures.links = self.args.links;
        run.figures.claims = self.claims.clone();
        run
    }
}
