//! See the package description; the code arrives with the first command that needs it.
