"""Paceline: which distributed-training framework should run this job on this hardware, and how sure are we?"""

from importlib.metadata import version

__version__ = version("paceline")
