import pytest
from trunks import stand_in

from videopred.eval.perceptual import TRUNKS


@pytest.fixture(scope="module", autouse=True)
def _trunk_of_lpips(tmp_path_factory):
    """A stand-in for AlexNet in a cache of torch's own, so that LPIPS can be made as users make it."""
    folder = tmp_path_factory.mktemp("torch")
    path = stand_in("alex", folder / "hub" / "checkpoints")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_HOME", str(folder))
        patch.setitem(TRUNKS, "alex", TRUNKS["alex"]._replace(file=path.name))
        yield
