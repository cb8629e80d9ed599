//! redb in this process: a B-tree whose commits write new pages into one file. It has one writer at a time, and readers beside it.
#[cfg(feature = "key-value")]
pub(crate) use self::engine::{prepare, run};
#[cfg(not(feature = "key-value"))]
pub(crate) use crate::unavailable::{prepare, run};

#[cfg(feature = "key-value")]
mod engine {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::AtomicU64;

    use redb::{
        Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata,
        TableDefinition, WriteTransaction,
    };

    use crate::balances::{self, Table, Writer, change, differ, is_full, number, row};
    use crate::clients::{Client, measure};
    use crate::options::RedbOptions;
    use crate::random::{Random, Rows};
    use crate::spec::{ACCOUNTS, TELLERS};
    use crate::{AppError, AppSpec, Measured, Probe, Transaction};

    const ENGINE: &str = "redb";
    /// Of the crate; a test compares it with Cargo.lock.
    const VERSION: &str = "4.6.0";
    const FILE: &str = "database.redb";

    type Definition = TableDefinition<'static, u64, &'static [u8]>;

    const fn definition(table: Table) -> Definition {
        TableDefinition::new(match table {
            Table::Accounts => "accounts",
            Table::Tellers => "tellers",
            Table::Branches => "branches",
            Table::History => "history",
        })
    }

    /// redb has an error type for each operation, and one that all of them convert to.
    fn failed(error: impl Into<redb::Error>, file: &Path) -> AppError {
        match error.into() {
            redb::Error::Io(error) => AppError::file(file, "cannot be used", error),
            redb::Error::PreviousIo if is_full(file) => AppError::Full(file.to_owned()),
            other => AppError::Statement {
                engine: ENGINE,
                message: other.to_string(),
            },
        }
    }

    struct Open {
        database: Database,
        file: PathBuf,
        options: RedbOptions,
    }

    impl Open {
        fn new(spec: &AppSpec, folder: &Path) -> Result<Open, AppError> {
            let options = RedbOptions::of(spec)?;
            let file = folder.join(FILE);
            let mut builder = Database::builder();
            if let Some(cache) = spec.cache {
                builder.set_cache_size(cache as usize);
            }
            let database = builder
                .create(&file)
                .map_err(|error| failed(error, &file))?;
            Ok(Open {
                database,
                file,
                options,
            })
        }

        /// Waits until no other transaction writes.
        fn write(&self) -> Result<WriteTransaction, AppError> {
            let begun = self.database.begin_write();
            let mut transaction = begun.map_err(|error| self.failed(error))?;
            let durability = if self.options.is_immediate {
                Durability::Immediate
            } else {
                Durability::None
            };
            transaction
                .set_durability(durability)
                .map_err(|error| self.failed(error))?;
            transaction.set_two_phase_commit(self.options.two_phase_commit);
            transaction.set_quick_repair(self.options.quick_repair);
            Ok(transaction)
        }

        fn failed(&self, error: impl Into<redb::Error>) -> AppError {
            failed(error, &self.file)
        }

        fn commit(&self, transaction: WriteTransaction) -> Result<(), AppError> {
            transaction.commit().map_err(|error| self.failed(error))
        }

        /// The rows of the history and the sum of each table.
        fn sums(&self) -> Result<(u64, [i64; 3]), AppError> {
            let read = self.database.begin_read();
            let read = read.map_err(|error| self.failed(error))?;
            let mut rows = 0;
            let mut sums = [0; 3];
            let tables = [Table::Branches, Table::Tellers, Table::History];
            for (sum, table) in sums.iter_mut().zip(tables) {
                let open = read.open_table(definition(table));
                let open = open.map_err(|error| self.failed(error))?;
                for entry in open.iter().map_err(|error| self.failed(error))? {
                    let (_, value) = entry.map_err(|error| self.failed(error))?;
                    *sum += number(value.value());
                }
                rows = open.len().map_err(|error| self.failed(error))?;
            }
            Ok((rows, sums))
        }

        fn counters(&self) -> Vec<(&'static str, f64)> {
            let cache = self.database.cache_stats();
            [
                ("redb.cache_hits", cache.read_hits() + cache.write_hits()),
                (
                    "redb.cache_misses",
                    cache.read_misses() + cache.write_misses(),
                ),
                ("redb.cache_evictions", cache.evictions()),
            ]
            .map(|(name, count)| (name, count as f64))
            .to_vec()
        }
    }

    struct Transactions<'a> {
        open: &'a Open,
        write: &'a WriteTransaction,
    }

    impl Writer for Transactions<'_> {
        fn row(&mut self, table: Table, key: u64) -> Result<Option<Vec<u8>>, AppError> {
            let open = self.write.open_table(definition(table));
            let open = open.map_err(|error| self.open.failed(error))?;
            let found = open.get(key).map_err(|error| self.open.failed(error))?;
            Ok(found.map(|row| row.value().to_vec()))
        }

        fn put(&mut self, table: Table, key: u64, row: &[u8]) -> Result<(), AppError> {
            let open = self.write.open_table(definition(table));
            let mut open = open.map_err(|error| self.open.failed(error))?;
            let before = open.insert(key, row);
            before.map(drop).map_err(|error| self.open.failed(error))
        }
    }

    pub(crate) fn prepare(
        spec: &AppSpec,
        folder: &Path,
        probe: &dyn Probe,
    ) -> Result<(), AppError> {
        let mut open = Open::new(spec, folder)?;
        open.options.is_immediate = true;
        let row = row(0, open.options.value_size);
        for unit in 0..i64::from(spec.scale) {
            if probe.stop() {
                return Err(AppError::Interrupted);
            }
            let write = open.write()?;
            for (table, each) in [
                (Table::Branches, 1),
                (Table::Tellers, TELLERS),
                (Table::Accounts, ACCOUNTS),
                (Table::History, 0),
            ] {
                let table = write.open_table(definition(table));
                let mut table = table.map_err(|error| open.failed(error))?;
                for key in unit * each + 1..=(unit + 1) * each {
                    let before = table.insert(key as u64, &row[..]);
                    before.map(drop).map_err(|error| open.failed(error))?;
                }
            }
            open.commit(write)?;
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
        const DOES_IO: bool = true;

        fn transaction(&mut self, spec: &AppSpec, random: &mut Random) -> Result<(), AppError> {
            let open = self.open;
            let rows = Rows::draw(spec, random);
            if spec.transaction == Transaction::SelectOnly {
                let read = open.database.begin_read();
                let read = read.map_err(|error| open.failed(error))?;
                let table = read.open_table(definition(Table::Accounts));
                let table = table.map_err(|error| open.failed(error))?;
                let found = table.get(rows.account as u64);
                return match found.map_err(|error| open.failed(error))? {
                    Some(_) => Ok(()),
                    None => Err(balances::missing(spec, Table::Accounts, rows.account)),
                };
            }
            // A transaction that is not committed is undone when it is dropped.
            let write = open.write()?;
            let mut writer = Transactions {
                open,
                write: &write,
            };
            change(&mut writer, spec, rows, self.next)?;
            open.commit(write)
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
        measured.data_bytes = crate::memory::size_of_folder(folder);
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
            crate::unavailable::locked("redb", super::VERSION);
        }
    }
}
