"""What the settings of all cores share. Light: pydantic only."""

from typing import Any, ClassVar, Self

from videopred.models.codec_settings import DecoderSettings, SharedConfig
from videopred.settings import Settings


class CoreSettings(Settings):
    """What the settings of every core share."""

    flag_prefix: ClassVar[str] = "--core."
    own_decoder: ClassVar[type[DecoderSettings]] = SharedConfig
    """The decoder that its paper uses."""

    @property
    def label(self) -> str:
        """What a run of this core is called unless somebody says otherwise."""
        return self.kind  # type: ignore[attr-defined]

    @property
    def state_widths(self) -> tuple[int, ...]:
        """Width of each part of the state: of every module, file, row or layer; if not overridden, of one, `units`.

        Cells, and past steps that are kept, are not counted.
        """
        return (self.units,)  # type: ignore[attr-defined]

    def changed(self, **changes: Any) -> Self:
        """The same settings but for some values, checked anew."""
        return self.model_copy(update=changes)
