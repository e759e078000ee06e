//! A MariaDB server for one test: with TLS, or to be killed.

use lodge_engines::{
    Tls,
    mariadb::{MariaDb, Options},
};
use lodge_testbed::{OwnMariadb, mariadb::USER};
use tempfile::TempDir;

use crate::testbed::cache;

/// A server with one empty database.
pub(super) struct OwnServer {
    pub(super) server: OwnMariadb,
    _folder: TempDir,
}

impl OwnServer {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { server: OwnMariadb::start(folder.path(), &cache()).unwrap(), _folder: folder }
    }

    pub(super) fn options(&self, tls: Option<Tls>) -> Options {
        let (nodes, password) = (vec![self.server.address()], self.server.password().into());
        let options = Options::new(nodes, self.server.database(), USER, password);
        Options { tls, writers: 2, readers: 2, scanners: 1, ..options }
    }

    pub(super) async fn connect(&self) -> MariaDb {
        MariaDb::connect(self.options(None)).await.unwrap()
    }
}
