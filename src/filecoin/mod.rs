//! Room `filecoin`.
