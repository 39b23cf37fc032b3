//! Observers of an experiment.

use crate::error::ObserverError;
use crate::record::{End, Header, MemoryRun, Sample};

/// Follows an experiment as it happens: to store it, to show its progress.
pub trait Observer {
    /// The experiment begins.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn begin(&mut self, header: &Header) -> Result<(), ObserverError>;
    /// A timed run is done.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn sample(&mut self, sample: &Sample) -> Result<(), ObserverError>;
    /// A watched run is done.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn memory(&mut self, run: &MemoryRun) -> Result<(), ObserverError>;
    /// The experiment is over.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn end(&mut self, end: &End) -> Result<(), ObserverError>;
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullObserver;

impl Observer for NullObserver {
    fn begin(&mut self, _: &Header) -> Result<(), ObserverError> {
        Ok(())
    }
    fn sample(&mut self, _: &Sample) -> Result<(), ObserverError> {
        Ok(())
    }
    fn memory(&mut self, _: &MemoryRun) -> Result<(), ObserverError> {
        Ok(())
    }
    fn end(&mut self, _: &End) -> Result<(), ObserverError> {
        Ok(())
    }
}
