"""An engine is launcher/strategy, optionally @variant: ``deepspeed/zero2``, ``ray-core/single@fresh``."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from paceline.errors import RequestError, quoted

NAME_CHARACTERS = 64
"""The longest name: it becomes a part of file names, of which file systems take 255 characters."""
PART = rf"[a-z0-9-]{{1,{NAME_CHARACTERS}}}"
"""What a launcher, a strategy or a variant may be called."""
_ENGINE = re.compile(rf"(?P<launcher>{PART})/(?P<strategy>{PART})(?:@(?P<variant>{PART}))?")


@dataclass(frozen=True, order=True)
class EngineName:
    """An engine's name in three parts: launcher, strategy, and perhaps a variant, a named overlay of settings."""

    launcher: str
    strategy: str
    variant: str | None = None

    @classmethod
    def parse(cls, text: str) -> "EngineName":
        """Read ``launcher/strategy[@variant]``. Raises RequestError on any other form."""
        match = _ENGINE.fullmatch(text.strip())
        if match is None:
            raise RequestError(
                f"engine {quoted(text)} is not of the form launcher/strategy or launcher/strategy@variant"
            )
        return cls(match["launcher"], match["strategy"], match["variant"])

    def __str__(self) -> str:
        return f"{self.launcher}/{self.strategy}" + (f"@{self.variant}" if self.variant else "")

    @property
    def slug(self) -> str:
        """The name in a form that can be a part of a file name."""
        return str(self).replace("/", "-").replace("@", "-")


def _coerce(value: object) -> EngineName:
    if isinstance(value, EngineName):
        return value
    try:
        return EngineName.parse(str(value))
    except RequestError as error:
        # A ValueError is what pydantic collects, so that other faults of the same suite are told as well.
        raise ValueError(str(error)) from error


Engine = Annotated[EngineName, BeforeValidator(_coerce), PlainSerializer(str, return_type=str)]
