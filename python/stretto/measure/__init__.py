"""Measuring: what to run (`settings`), how (`runner`), and what it says (`stats`, `compare`)."""
