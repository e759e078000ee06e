//! Copies the pictures of a folder to another store, and compares the two.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    sync::Arc,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use lodge_domain::{Error, Result};
use object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, path};

use crate::store::{absent, named};

/// Files that are copied or compared at once.
const FILES_AT_ONCE: usize = 16;

/// A move of pictures from a folder to another store.
#[derive(Debug)]
pub struct PicturesMove {
    from: Arc<dyn ObjectStore>,
    to: Arc<dyn ObjectStore>,
}

/// What a move found when it compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PicturesComparison {
    /// The pictures in the folder.
    pub pictures: u64,
    /// The files of pictures that the destination lacks or has with other content.
    pub differences: u64,
}

impl PicturesMove {
    /// Refers to the pictures in `folder`; `None` if there is no such folder.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be opened.
    pub fn open(folder: &Path, to: Arc<dyn ObjectStore>) -> io::Result<Option<Self>> {
        if !folder.try_exists()? {
            return Ok(None);
        }
        let from = LocalFileSystem::new_with_prefix(folder).map_err(io::Error::other)?;
        Ok(Some(Self { from: Arc::new(from), to }))
    }

    /// Copies the files that the destination lacks, and then reads every file on both sides. `watch` is called with the
    /// number of folders, of at most 4,096, that are copied or compared.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if a store fails; it can be run again then.
    pub async fn run(
        &self,
        watch: &(dyn Fn(&'static str, u64) + Send + Sync),
    ) -> Result<PicturesComparison> {
        let folders = self.from.list_with_delimiter(None).await.map_err(Error::unavailable)?;
        let folders = || folders.common_prefixes.iter().zip(1..);
        for (folder, number) in folders() {
            self.copy_folder(folder).await.map_err(Error::unavailable)?;
            watch("copied", number);
        }
        let mut compared = PicturesComparison::default();
        for (folder, number) in folders() {
            let of_folder = self.compare_folder(folder).await.map_err(Error::unavailable)?;
            compared.pictures += of_folder.pictures;
            compared.differences += of_folder.differences;
            watch("compared", number);
        }
        Ok(compared)
    }

    /// Copies one of the folders over which pictures are spread.
    async fn copy_folder(&self, folder: &path::Path) -> object_store::Result<()> {
        let (files, present) = (sizes(&*self.from, folder).await?, sizes(&*self.to, folder).await?);
        let missing = files.iter().filter(|(file, size)| present.get(*file) != Some(*size));
        let copies = stream::iter(missing).map(|(file, _)| self.copy(file));
        copies.buffer_unordered(FILES_AT_ONCE).try_collect().await
    }

    async fn compare_folder(
        &self,
        folder: &path::Path,
    ) -> object_store::Result<PicturesComparison> {
        let files = sizes(&*self.from, folder).await?;
        let differ = stream::iter(files.keys()).map(|file| self.differs(file));
        let differ: Vec<bool> = differ.buffer_unordered(FILES_AT_ONCE).try_collect().await?;
        let ids = files.keys().filter_map(|file| Some(*named(file)?.bytes()));
        Ok(PicturesComparison {
            pictures: ids.collect::<BTreeSet<_>>().len() as u64,
            differences: differ.into_iter().filter(|differs| *differs).count() as u64,
        })
    }

    async fn copy(&self, file: &path::Path) -> object_store::Result<()> {
        let bytes = self.from.get(file).await?.bytes().await?;
        self.to.put(file, bytes.into()).await?;
        Ok(())
    }

    async fn differs(&self, file: &path::Path) -> object_store::Result<bool> {
        let kept = self.from.get(file).await?.bytes().await?;
        let copied = async { self.to.get(file).await?.bytes().await };
        let copied = copied.await.map(Some).or_else(|error| absent(error, None))?;
        Ok(copied.is_none_or(|copied| copied != kept))
    }
}

/// Returns the files of pictures in a folder with their sizes.
async fn sizes(
    store: &dyn ObjectStore,
    folder: &path::Path,
) -> object_store::Result<BTreeMap<path::Path, u64>> {
    let files = store.list(Some(folder));
    let pictures = files.try_filter_map(|file| async move {
        Ok(named(&file.location).map(|_| (file.location, file.size)))
    });
    pictures.try_collect().await
}
