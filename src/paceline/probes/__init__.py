"""Child processes that answer one question about this machine or about a workload, and may import frameworks for it."""
