//! Failures of the engine as the exceptions of `tidegate.errors`: the one place.

use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use tidegate_core::decision::effects::EffectsError;
use tidegate_core::ruleset::ChangeError;
use tidegate_core::state::snapshot::SnapshotError;
use tidegate_core::{EventError, Failure, ProgramError};

/// A class that is looked up once.
pub(crate) struct ImportedClass {
    class: PyOnceLock<Py<PyType>>,
    module: &'static str,
    name: &'static str,
}

impl ImportedClass {
    pub(crate) const fn new(module: &'static str, name: &'static str) -> Self {
        Self { class: PyOnceLock::new(), module, name }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyType>> {
        self.class.import(py, self.module, self.name)
    }
}

static EVALUATION_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "EvaluationError");
static EVENT_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "EventError");
static CANONICAL_FORM_ERROR: ImportedClass =
    ImportedClass::new("tidegate.errors", "CanonicalFormError");
static SNAPSHOT_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "SnapshotError");
static EFFECTS_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "EffectsError");
static SPAN: ImportedClass = ImportedClass::new("tidegate.language.tree.ast", "Span");

/// `EvaluationError` with code, message and span.
pub(crate) fn evaluation_error(py: Python<'_>, failure: Failure) -> PyErr {
    raised(|| {
        let span = SPAN.get(py)?.call1((failure.span.start, failure.span.end))?;
        let code = failure.code;
        EVALUATION_ERROR.get(py)?.call1((code.as_str(), code.message(), span))
    })
}

/// `EventError` with message, pointer and offset.
pub(crate) fn event_error(py: Python<'_>, error: EventError) -> PyErr {
    raised(|| EVENT_ERROR.get(py)?.call1((error.message, error.pointer, error.offset)))
}

/// Whether an exception is the refusal of an event.
pub(crate) fn is_event_error(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    Ok(error.is_instance(py, EVENT_ERROR.get(py)?))
}

/// `CanonicalFormError` with message and pointer.
pub(crate) fn program_error(py: Python<'_>, error: ProgramError) -> PyErr {
    raised(|| CANONICAL_FORM_ERROR.get(py)?.call1((error.message, error.pointer)))
}

/// `KeyError` with the id of a rule that is not there, else as [`program_error`].
pub(crate) fn change_error(py: Python<'_>, error: ChangeError) -> PyErr {
    match error {
        ChangeError::UnknownRule(id) => PyKeyError::new_err(id),
        ChangeError::Program(error) => program_error(py, error),
    }
}

/// `SnapshotError` with its message.
pub(crate) fn snapshot_error(py: Python<'_>, error: &SnapshotError) -> PyErr {
    raised(|| SNAPSHOT_ERROR.get(py)?.call1((error.to_string(),)))
}

/// `EffectsError` with message and position.
pub(crate) fn effects_error(py: Python<'_>, error: EffectsError) -> PyErr {
    raised(|| EFFECTS_ERROR.get(py)?.call1((error.message, error.position)))
}

/// The set has no rule of this number.
pub(crate) fn no_such_rule(index: usize) -> PyErr {
    PyIndexError::new_err(format!("there is no rule {index}"))
}

/// A prepared context was made for another set.
pub(crate) fn foreign_context() -> PyErr {
    PyValueError::new_err("the context was prepared for another rule set")
}

/// A value, written out, is larger than what crosses the border.
pub(crate) fn too_many_parts() -> PyErr {
    let limit = tidegate_core::program::constant::MAX_PARTS;
    PyValueError::new_err(format!("the value has more than {limit} parts"))
}

/// The exception that was made, or the one that came of making it.
fn raised<'py>(make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>) -> PyErr {
    make().map_or_else(|error| error, PyErr::from_value)
}
