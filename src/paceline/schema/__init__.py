"""Requests and records as pydantic models and tables; nothing here imports the rest of Paceline, errors apart.

Requests: ``suite``, ``engine``, ``conditions``, ``proof``, ``trial``, ``run``. Records: ``records``, ``trial_records``.
Definitions of what is printed: ``metrics``.
"""
