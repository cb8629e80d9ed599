//! The commands on stored results: `runs`, `show`, `export`, `rm`.

mod export;
mod list;
mod remove;
mod show;

use fathom_model::{Run, RunId};
use fathom_store::Store;

pub use self::export::command as export;
pub use self::list::command as runs;
pub use self::remove::command as remove;
pub use self::show::command as show;

/// A run, or one of its cells: `r12`, `latest`, `r12.3`.
struct Named {
    run: Run,
    cell: Option<u64>,
}

fn named(store: &mut Store, name: &str) -> Result<Named, String> {
    let (run, cell) = match name.split_once('.') {
        Some((run, cell)) if run == "latest" || RunId::parse(run).is_some() => {
            let position = cell.parse().ok().filter(|position| *position > 0);
            (
                run,
                Some(position.ok_or_else(|| {
                    format!(
                        "'{}' is not a cell; cells are named r12.1, r12.2 and so on",
                        name.escape_debug()
                    )
                })?),
            )
        }
        _ => (name, None),
    };
    let run = store.run(run).map_err(|error| error.to_string())?;
    Ok(Named { run, cell })
}
