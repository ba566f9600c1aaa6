//! The only place that converts failures of the engine to the exceptions of `tidegate.errors`.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyKeyError, PyValueError};
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

    /// An exception of the class, or the exception that making it raised.
    fn raised(&self, arguments: impl for<'py> PyCallArgs<'py>) -> PyErr {
        Python::attach(|py| match self.get(py).and_then(|class| class.call1(arguments)) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        })
    }
}

static EVALUATION_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "EvaluationError");
static EVENT_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "EventError");
static CANONICAL_FORM_ERROR: ImportedClass =
    ImportedClass::new("tidegate.errors", "CanonicalFormError");
static SNAPSHOT_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "SnapshotError");
static EFFECTS_ERROR: ImportedClass = ImportedClass::new("tidegate.errors", "EffectsError");
static SPAN: ImportedClass = ImportedClass::new("tidegate.language.tree.ast", "Span");

/// The reason why a call fails.
pub(crate) enum Error {
    /// An event is rejected. It isn't an exception yet: the enclosing objects add to its pointer,
    /// and a batch has it among its answers.
    Event(Box<EventError>),
    Python(PyErr),
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Event(error) => {
                let EventError { message, pointer, offset, is_unreadable } = *error;
                EVENT_ERROR.raised((message, pointer, offset, is_unreadable))
            }
            Error::Python(error) => error,
        }
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<EventError> for Error {
    fn from(error: EventError) -> Self {
        Self::Event(Box::new(error))
    }
}

impl From<Failure> for Error {
    fn from(Failure { code, span }: Failure) -> Self {
        let error = Python::attach(|py| {
            let span = SPAN.get(py)?.call1((span.start, span.end))?.unbind();
            Ok(EVALUATION_ERROR.raised((code.as_str(), code.message(), span)))
        });
        Self::Python(error.unwrap_or_else(|error| error))
    }
}

impl From<ProgramError> for Error {
    fn from(error: ProgramError) -> Self {
        Self::Python(CANONICAL_FORM_ERROR.raised((error.message, error.pointer)))
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::UnknownRule(id) => Self::Python(PyKeyError::new_err(id)),
            ChangeError::Program(error) => error.into(),
        }
    }
}

impl From<SnapshotError> for Error {
    fn from(error: SnapshotError) -> Self {
        Self::Python(SNAPSHOT_ERROR.raised((error.to_string(),)))
    }
}

impl From<EffectsError> for Error {
    fn from(error: EffectsError) -> Self {
        Self::Python(EFFECTS_ERROR.raised((error.message, error.position)))
    }
}

/// The error of a rejected event as an object; any other error is raised.
pub(crate) fn event_error_object(py: Python<'_>, error: Error) -> PyResult<Py<PyAny>> {
    match error {
        Error::Event(_) => Ok(PyErr::from(error).into_value(py).into_any()),
        Error::Python(error) => Err(error),
    }
}

/// A `ValueError` with the text of an error.
pub(crate) fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The error for a value that is too large to convert.
pub(crate) fn too_many_parts() -> PyErr {
    let limit = tidegate_core::program::constant::MAX_PARTS;
    value_error(format!("the value has more than {limit} parts"))
}
