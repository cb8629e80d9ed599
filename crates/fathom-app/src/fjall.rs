//! fjall in this process: a log-structured merge tree. A commit is appended to a journal; tables are written from memory and merged
//! later. Transactions that write run one after another, readers beside them.
#[cfg(feature = "fjall")]
pub(crate) use self::engine::{prepare, run};
#[cfg(not(feature = "fjall"))]
pub(crate) use crate::unavailable::{prepare, run};

use std::path::{Path, PathBuf};

/// The folder of the database.
const DATABASE: &str = "database.fjall";

/// Tables without the journal, whose file has room for more than it holds.
pub(crate) fn data_folder(folder: &Path) -> PathBuf {
    folder.join(DATABASE).join("keyspaces")
}

#[cfg(feature = "fjall")]
mod engine {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::AtomicU64;

    use fjall::config::BlockSizePolicy;
    use fjall::{
        Error, KeyspaceCreateOptions, LsmError, Readable, SingleWriterTxDatabase,
        SingleWriterTxKeyspace, SingleWriterWriteTx,
    };

    use super::{DATABASE, data_folder};
    use crate::balances::{self, Table, Writer, change, differ, is_full, number, row};
    use crate::clients::{Client, measure};
    use crate::options::{FjallOptions, Persist};
    use crate::random::{Random, Rows};
    use crate::spec::{ACCOUNTS, TELLERS};
    use crate::{AppError, AppSpec, Measured, Probe, Transaction};

    const ENGINE: &str = "fjall";
    /// Of the crate; a test compares it with Cargo.lock.
    const VERSION: &str = "3.1.13";
    /// In the order of [`Table`].
    const TABLES: [&str; 4] = ["accounts", "tellers", "branches", "history"];

    fn failed(error: Error, folder: &Path) -> AppError {
        match error {
            Error::Io(error) | Error::Storage(LsmError::Io(error)) => {
                AppError::file(folder, "cannot be used", error)
            }
            // All that follows a failed write.
            Error::Poisoned if is_full(folder) => AppError::Full(folder.to_owned()),
            other => AppError::Statement {
                engine: ENGINE,
                message: other.to_string(),
            },
        }
    }

    struct Open {
        database: SingleWriterTxDatabase,
        tables: [SingleWriterTxKeyspace; 4],
        folder: PathBuf,
        options: FjallOptions,
    }

    impl Open {
        fn new(spec: &AppSpec, folder: &Path) -> Result<Open, AppError> {
            let options = FjallOptions::of(spec)?;
            let folder = folder.join(DATABASE);
            let mut builder = SingleWriterTxDatabase::builder(&folder);
            if let Some(cache) = spec.cache {
                builder = builder.cache_size(cache);
            }
            let failed = |error| failed(error, &folder);
            let database = builder.open().map_err(failed)?;
            let create = || {
                KeyspaceCreateOptions::default()
                    .max_memtable_size(options.max_memtable_size)
                    .data_block_size_policy(BlockSizePolicy::all(options.data_block_size))
            };
            let table = |place: usize| database.keyspace(TABLES[place], create).map_err(failed);
            let tables = [table(0)?, table(1)?, table(2)?, table(3)?];
            Ok(Open {
                database,
                tables,
                folder,
                options,
            })
        }

        fn table(&self, table: Table) -> &SingleWriterTxKeyspace {
            &self.tables[table as usize]
        }

        fn failed(&self, error: Error) -> AppError {
            failed(error, &self.folder)
        }

        /// Waits until no other transaction writes.
        fn write(&self) -> SingleWriterWriteTx<'_> {
            let mode = match self.options.persist {
                Persist::Buffer => fjall::PersistMode::Buffer,
                Persist::SyncData => fjall::PersistMode::SyncData,
                Persist::SyncAll => fjall::PersistMode::SyncAll,
            };
            self.database.write_tx().durability(Some(mode))
        }

        /// The rows of the history and the sum of each table.
        fn sums(&self) -> Result<(u64, [i64; 3]), AppError> {
            let read = self.database.read_tx();
            let mut rows = 0;
            let mut sums = [0; 3];
            let tables = [Table::Branches, Table::Tellers, Table::History];
            for (sum, table) in sums.iter_mut().zip(tables) {
                rows = 0;
                for entry in read.iter(self.table(table)) {
                    let value = entry.value().map_err(|error| self.failed(error))?;
                    *sum += number(&value);
                    rows += 1;
                }
            }
            Ok((rows, sums))
        }

        fn counters(&self) -> Vec<(&'static str, f64)> {
            let database = self.database.inner();
            let sum = |of: fn(&SingleWriterTxKeyspace) -> u64| {
                self.tables.iter().map(of).sum::<u64>() as f64
            };
            vec![
                (
                    "fjall.cache_hits",
                    sum(|table| table.inner().metrics().block_load_cached_count() as u64),
                ),
                (
                    "fjall.cache_misses",
                    sum(|table| table.inner().metrics().block_load_io_count() as u64),
                ),
                (
                    "fjall.block_bytes_read",
                    sum(|table| table.inner().metrics().block_io()),
                ),
                ("fjall.compactions", database.compactions_completed() as f64),
                (
                    "fjall.compaction_us",
                    database.time_compacting().as_micros() as f64,
                ),
            ]
        }
    }

    struct Transactions<'a> {
        open: &'a Open,
        write: SingleWriterWriteTx<'a>,
    }

    impl Writer for Transactions<'_> {
        fn row(&mut self, table: Table, key: u64) -> Result<Option<Vec<u8>>, AppError> {
            let table = self.open.table(table);
            let found = self.write.get(table, key.to_be_bytes());
            let found = found.map_err(|error| self.open.failed(error))?;
            Ok(found.map(|row| row.to_vec()))
        }

        fn put(&mut self, table: Table, key: u64, row: &[u8]) -> Result<(), AppError> {
            let table = self.open.table(table);
            self.write.insert(table, key.to_be_bytes(), row);
            Ok(())
        }
    }

    /// The rows are written in the order of their keys, straight into tables.
    pub(crate) fn prepare(
        spec: &AppSpec,
        folder: &Path,
        probe: &dyn Probe,
    ) -> Result<(), AppError> {
        let open = Open::new(spec, folder)?;
        let row = row(0, open.options.value_size);
        for (table, each) in [
            (Table::Branches, 1),
            (Table::Tellers, TELLERS),
            (Table::Accounts, ACCOUNTS),
        ] {
            let ingestion = open.table(table).inner().start_ingestion();
            let mut ingestion = ingestion.map_err(|error| open.failed(error))?;
            for unit in 0..i64::from(spec.scale) {
                if probe.stop() {
                    return Err(AppError::Interrupted);
                }
                for key in unit * each + 1..=(unit + 1) * each {
                    ingestion
                        .write((key as u64).to_be_bytes(), &row[..])
                        .map_err(|error| open.failed(error))?;
                }
            }
            ingestion.finish().map_err(|error| open.failed(error))?;
        }
        drop(open);
        crate::memory::sync_folder(folder)
    }

    struct OneClient<'a> {
        open: &'a Open,
        next: &'a AtomicU64,
    }

    impl Client for OneClient<'_> {
        const ENGINE: &'static str = ENGINE;
        /// A commit syncs the journal; tables are written by threads of fjall.
        const DOES_IO: bool = true;

        fn transaction(&mut self, spec: &AppSpec, random: &mut Random) -> Result<(), AppError> {
            let open = self.open;
            let rows = Rows::draw(spec, random);
            if spec.transaction == Transaction::SelectOnly {
                let read = open.database.read_tx();
                let key = (rows.account as u64).to_be_bytes();
                let found = read.get(open.table(Table::Accounts), key);
                return match found.map_err(|error| open.failed(error))? {
                    Some(_) => Ok(()),
                    None => Err(balances::missing(spec, Table::Accounts, rows.account)),
                };
            }
            // A transaction that is not committed is undone when it is dropped.
            let mut writer = Transactions {
                open,
                write: open.write(),
            };
            change(&mut writer, spec, rows, self.next)?;
            writer.write.commit().map_err(|error| open.failed(error))
        }
    }

    pub(crate) fn run(
        spec: &AppSpec,
        folder: &Path,
        probe: &dyn Probe,
    ) -> Result<Measured, AppError> {
        let open = Open::new(spec, folder)?;
        let (rows, _) = open.sums()?;
        let next = AtomicU64::new(rows + 1);
        let mut clients: Vec<OneClient<'_>> = (0..spec.clients.max(1))
            .map(|_| OneClient {
                open: &open,
                next: &next,
            })
            .collect();
        let mut measured = measure(spec, &mut clients, probe, &|| open.counters())?;
        VERSION.clone_into(&mut measured.version);
        measured.data_bytes = crate::memory::size_of_folder(&data_folder(folder));
        if measured.error.is_none() {
            let (rows, [branches, tellers, history]) = open.sums()?;
            let counters = &mut measured.counters;
            counters.insert("history_rows".to_owned(), rows as f64);
            measured.error = differ(branches, tellers, history);
        }
        Ok(measured)
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_version_is_that_of_the_locked_crate() {
            crate::unavailable::locked("fjall", super::VERSION);
        }
    }
}
