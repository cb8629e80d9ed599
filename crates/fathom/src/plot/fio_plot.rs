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

/// An INI file: fio-plot takes either a file or flags. Only the output may be given with it.
fn ini(file: &str, rest: &[String]) -> Result<PlotRequest, String> {
    let output = match rest {
        [] => None,
        [flag, place] if flag == "-o" => Some(place.as_str()),
        _ => return Err("only -o FILE is allowed with an INI file".into()),
    };
    let fio_plot = fio_plot_ini(&read(file)?, output)
        .map_err(|why| format!("{}: {why}", file.escape_debug()))?;
    if !fio_plot.unknown.is_empty() {
        eprint_line!(
            "fathom plot: {}: unknown to fio-plot and ignored: {}",
            file.escape_debug(),
            fio_plot.unknown.join(", ")
        );
    }
    Ok(converted(fio_plot))
}

fn converted(fio_plot: FioPlotRequest) -> PlotRequest {
    for (reason, keys) in fio_plot.unused {
        eprint_line!("fathom plot: {} without effect: {reason}", keys.join(", "));
    }
    let mut request = PlotRequest {
        results: fio_plot.results,
        chart: fio_plot.chart.to_owned(),
        options: fio_plot.options,
        most: fio_plot.max_depth_and_jobs,
        outputs: vec![fio_plot.output.into()],
        ..PlotRequest::default()
    };
    request.frame.scale = fio_plot.scale;
    request
}
