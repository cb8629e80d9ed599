//! One host of `fio --client`.

use fathom_model::Findings;

/// One host with its result.
#[derive(Clone, Copy, Debug)]
pub struct ClientResult<'a> {
    /// Its name.
    pub name: &'a str,
    /// The port of `--client`.
    pub port: u16,
    /// Its figures alone.
    pub findings: &'a Findings,
}
