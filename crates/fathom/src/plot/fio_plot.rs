//! Charts in the options of fio-plot: flags or an INI file.

use fathom_import::{FioPlotRequest, fio_plot_flags, fio_plot_ini, is_fio_plot};

use super::PlotRequest;
use crate::print::eprint_line;
use crate::result_file::read;

/// The request in `arguments`; `None` when they are not in the options of fio-plot.
pub(super) fn request(arguments: &[String]) -> Option<Result<PlotRequest, String>> {
    if let [file, rest @ ..] = arguments
        && file.to_ascii_lowercase().ends_with(".ini")
    {
        return Some(ini(file, rest));
    }
    is_fio_plot(arguments).then(|| {
        fio_plot_flags(arguments)
            .map(converted)
            .map_err(|error| error.to_string())
    })
}

/// An INI file: fio-plot takes either a file or flags. Only the output may be given beside it.
fn ini(file: &str, rest: &[String]) -> Result<PlotRequest, String> {
    let output = match rest {
        [] => None,
        [option, file] if option == "-o" => Some(file.as_str()),
        _ => return Err("only -o FILE is allowed with an INI file".into()),
    };
    let request = fio_plot_ini(&read(file)?, output)
        .map_err(|error| format!("{}: {error}", file.escape_debug()))?;
    if !request.unknown.is_empty() {
        eprint_line!(
            "fathom plot: {}: unknown to fio-plot and ignored: {}",
            file.escape_debug(),
            request.unknown.join(", ")
        );
    }
    Ok(converted(request))
}

fn converted(request: FioPlotRequest) -> PlotRequest {
    for (reason, keys) in request.unused {
        eprint_line!("fathom plot: {} without effect: {reason}", keys.join(", "));
    }
    let mut plot_request = PlotRequest {
        results: request.results,
        chart: Some(request.chart.to_owned()),
        options: request.options,
        limits: request.max_depth_and_jobs,
        outputs: vec![request.output.into()],
        ..PlotRequest::default()
    };
    plot_request.frame.scale = request.scale;
    plot_request
}
