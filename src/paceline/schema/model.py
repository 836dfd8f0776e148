"""The base of every model that is written to a file or read from one."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Immutable; an unknown key is an error, so a misspelt setting can never be ignored silently."""

    model_config = ConfigDict(frozen=True, extra="forbid")
