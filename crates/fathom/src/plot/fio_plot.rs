//! Charts as fio-plot is asked for them, by flags or an INI file.

use fathom_import::{FioPlotRequest, fio_plot_flags, fio_plot_ini, is_fio_plot};

use super::PlotArgs;
use crate::print::eprint_line;
use crate::result_file::read;

/// What is asked for in the way of fio-plot; nothing where `words` are not of that kind.
pub(super) fn asked(words: &[String]) -> Option<Result<PlotArgs, String>> {
    if let [file, rest @ ..] = words
        && file.to_ascii_lowercase().ends_with(".ini")
    {
        return Some(ini(file, rest));
    }
    is_fio_plot(words).then(|| {
        fio_plot_flags(words)
            .map(ours)
            .map_err(|error| error.to_string())
    })
}

/// An INI file, alone: fio-plot takes either a file or flags. Where to may be said beside it.
fn ini(file: &str, rest: &[String]) -> Result<PlotArgs, String> {
    let output = match rest {
        [] => None,
        [flag, place] if flag == "-o" => Some(place.as_str()),
        _ => return Err("beside an INI file only -o FILE is taken".into()),
    };
    let wish = fio_plot_ini(&read(file)?, output)
        .map_err(|why| format!("{}: {why}", file.escape_debug()))?;
    if !wish.unknown.is_empty() {
        eprint_line!(
            "fathom plot: {}: fio-plot has no {}; passed over",
            file.escape_debug(),
            wish.unknown.join(", ")
        );
    }
    Ok(ours(wish))
}

fn ours(wish: FioPlotRequest) -> PlotArgs {
    for (reason, keys) in wish.idle {
        eprint_line!(
            "fathom plot: {} {} nothing here: {reason}",
            keys.join(", "),
            if keys.len() == 1 { "changes" } else { "change" }
        );
    }
    let mut asked = PlotArgs {
        results: wish.results,
        chart: wish.chart.to_owned(),
        wish: wish.options,
        most: wish.max_depth_and_jobs,
        outputs: vec![wish.output],
        ..PlotArgs::default()
    };
    asked.frame.scale = wish.scale;
    asked
}
