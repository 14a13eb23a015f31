"""The codec and the decoder of docs/adding.md, and a model whose parts of these are changed."""

from pathlib import Path

from documents import blocks

from videopred.models import build, core_config
from videopred.models.codec_settings import SharedConfig
from videopred.models.predictor import Predictor
from videopred.models.settings import OwnCodecConfig, OwnDecoderConfig, PredictorConfig
from videopred.models.trial import try_out

GUIDE = (Path(__file__).parents[2] / "docs" / "adding.md").read_text()
PARTS = blocks(GUIDE, "python")[0]
CODEC, DECODER = OwnCodecConfig(source="myparts:Patches", settings={"channels": 5}), "myparts:Summed"
SMALL = "--core.modules 3 --core.active 2 --core.units 4"
LEARNING = "--updates 2 --batch-size 4 --validate-every 1 --device cpu"


def seen(place: Path, part: str, *changes: tuple[str, str], before: str = "") -> Predictor:
    """A model with the guide's codec, and its decoder if that is the part that is changed, behind some lines; tried."""
    at = PARTS.index("class Summed")
    texts = {"codec": PARTS[:at], "decoder": PARTS[at:]}
    for old, new in changes:
        assert texts[part].count(old) == 1
        texts[part] = texts[part].replace(old, new)
    text = "".join(texts.values()).replace("class PatchS", f"{before}\n\n\nclass PatchS")
    (place / "myparts.py").write_text(text)
    core = core_config("rims", modules=3, active=2, units=4)
    decoder = OwnDecoderConfig(source=DECODER) if part == "decoder" else SharedConfig()
    model = build(PredictorConfig(core=core, codec=CODEC, decoder=decoder), (3, 16, 24))
    try_out(model)
    return model
