//! Address databases that say where clients are.

use std::sync::Arc;

use pyo3::prelude::*;
use tidegate_core::event::client::geo::{AddressDatabase, AddressDatabases, Gives};

use crate::convert::error::{Result, value_error};

/// One checked database. See `_native.pyi`.
#[pyclass(frozen, name = "AddressDatabase", module = "tidegate._native")]
pub(crate) struct PyAddressDatabase {
    database: Arc<AddressDatabase>,
    gives: Gives,
}

#[pymethods]
impl PyAddressDatabase {
    #[new]
    fn new(py: Python<'_>, content: &[u8]) -> Result<Self> {
        let opened = py.detach(|| {
            let database = AddressDatabase::new(content.to_vec())?;
            database.check().map(|gives| Self { database: Arc::new(database), gives })
        });
        Ok(opened.map_err(value_error)?)
    }

    #[getter]
    fn kind(&self) -> &str {
        self.database.kind()
    }

    #[getter]
    fn built_at(&self) -> u64 {
        self.database.built_at()
    }

    #[getter]
    fn broken(&self) -> u64 {
        self.database.broken()
    }

    #[getter]
    fn fields(&self) -> Vec<&'static str> {
        let Gives { country, asn, organization } = self.gives;
        let names = ["derived.country", "derived.asn", "derived.as_org"];
        let given = names.into_iter().zip([country, asn, organization]);
        given.filter_map(|(name, is_given)| is_given.then_some(name)).collect()
    }
}

/// Databases that are asked in order. See `_native.pyi`.
#[pyclass(frozen, name = "AddressDatabases", module = "tidegate._native")]
pub(crate) struct PyAddressDatabases(pub(crate) AddressDatabases);

#[pymethods]
impl PyAddressDatabases {
    #[new]
    fn new(databases: Vec<Bound<'_, PyAddressDatabase>>) -> Self {
        Self(databases.iter().map(|each| Arc::clone(&each.get().database)).collect())
    }
}
