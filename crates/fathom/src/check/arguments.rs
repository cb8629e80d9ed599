//! The figures and claims among the arguments of `fathom check`.

use fathom_analyse::{NumberError, parse_figure};
use fathom_cli::CheckArgs;
use fathom_model::{AuthorClaims, Bytes, Direction, ImportedDirection, ImportedFigures};

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
            share: args.claim_share,
            smallest_block: args.claim_smallest.map(fathom_model::Bytes::get),
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
        let mut figures = ImportedFigures {
            rw: args.rw.clone(),
            streams: vec![stream],
            block: args.bs.map(fathom_model::Bytes::get),
            depth: args.iodepth.or(Some(1)),
            jobs: args.numjobs,
            per_job: args.per_job,
            closed: true,
            ios: args.ios,
            ..ImportedFigures::default()
        };
        self.complete(&mut figures);
        figures
    }

    /// Adds what a result does not contain: the link and the identity of its device, and the claims.
    pub(super) fn complete(&self, figures: &mut ImportedFigures) {
        let args = &self.args;
        let size = |size: Option<Bytes>| size.map(fathom_model::Bytes::get);
        figures.link = args.link;
        figures.links = args.links;
        figures.part_number.clone_from(&args.part);
        figures.attachment.clone_from(&args.attachment);
        figures.zipf = args.zipf.or(figures.zipf);
        figures.region = size(args.region).or(figures.region);
        figures.logical_block = size(args.logical_block).or(figures.logical_block);
        figures.claims = self.claims.clone();
    }
}
