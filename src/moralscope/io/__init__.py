"""Files in and out: readers of tables and documents, atomic writing, the journal of long runs."""
