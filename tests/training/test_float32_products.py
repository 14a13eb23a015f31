"""Which library multiplies float32 matrices while a run learns."""

from collections.abc import Iterator

import pytest
import torch
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred.run_files import LOG
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.training import float32_products
from videopred.training.float32_products import fast_products, keeps_float32
from videopred.training.learner import Learner
from videopred.training.run import foresee, train

CPU, SIXTEEN, ALONE = torch.device("cpu"), TrainingConfig(batch_size=16), ComputeConfig()


LIBRARIES = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul


@pytest.fixture(autouse=True)
def as_torch_starts() -> Iterator[None]:
    """No precision is chosen, before and behind a test."""
    yield
    torch.backends.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")
    for library in LIBRARIES:
        library.fp32_precision = "none"


@pytest.fixture
def amd(monkeypatch) -> None:
    """A processor on which oneDNN is faster, and as precise."""
    monkeypatch.setattr(float32_products, "processor_name", lambda: "AMD EPYC 9B45 128-Core Processor")
    monkeypatch.setattr(float32_products, "keeps_float32", lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")


def precisions() -> tuple[str, ...]:
    """What torch and its libraries say of their products."""
    return (torch.get_float32_matmul_precision(), *(library.fp32_precision for library in LIBRARIES))


def precision_within(training: TrainingConfig, compute: ComputeConfig = ALONE, device: torch.device = CPU) -> str:
    before = precisions()
    with fast_products(training, compute, device) as are_fast:
        within = torch.get_float32_matmul_precision()
        assert are_fast == (within == "medium")
    assert precisions() == before
    return within


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("AMD EPYC", "medium"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "medium"),
        ("AMD64 Family 25 Model 97 Stepping 2, AuthenticAMD", "medium"),
        ("Intel64 Family 6 Model 143 Stepping 8, GenuineIntel", "highest"),
        ("Intel(R) Xeon(R) Processor @ 2.60GHz", "highest"),
        ("AMD64", "highest"),  # how Windows calls any such processor
        ("aarch64", "highest"),
    ],
)
def test_products_are_those_of_onednn_on_processors_of_amd(amd, monkeypatch, name, precision):
    monkeypatch.setattr(float32_products, "processor_name", lambda: name)
    assert precision_within(SIXTEEN) == precision


@pytest.mark.parametrize(
    ("training", "compute", "device"),
    [
        (TrainingConfig(batch_size=15), ALONE, "cpu"),
        (TrainingConfig(batch_size=32, accumulate=4), ALONE, "cpu"),
        (TrainingConfig(batch_size=32), ComputeConfig(devices=2, nodes=2), "cpu"),
        (TrainingConfig(batch_size=16, precision="bf16-mixed"), ALONE, "cpu"),
        (TrainingConfig(batch_size=16, precision="64-true"), ALONE, "cpu"),
        (SIXTEEN, ALONE, "cuda"),
    ],
)
def test_they_stay_as_they_are_where_that_gains_nothing(amd, training, compute, device):
    assert precision_within(training, compute, torch.device(device)) == "highest"


@pytest.mark.parametrize("training", [TrainingConfig(batch_size=64, accumulate=4), SIXTEEN])
def test_clips_are_counted_that_are_computed_at_once(amd, training):
    assert precision_within(training) == "medium"
    assert precision_within(TrainingConfig(batch_size=128), ComputeConfig(devices=4, nodes=2)) == "medium"


def test_they_stay_as_they_are_without_avx_512_or_onednn(amd, monkeypatch):
    with monkeypatch.context() as switched_off:
        switched_off.setattr(torch.backends.mkldnn, "enabled", False)
        assert precision_within(SIXTEEN) == "highest"
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert precision_within(SIXTEEN) == "highest"


def test_who_chooses_full_precision_keeps_what_torch_does_for_it(amd):
    torch.set_float32_matmul_precision("highest")
    assert precision_within(SIXTEEN) == "highest"


def test_they_stay_as_they_are_where_onednn_would_round_factors(amd, monkeypatch):
    monkeypatch.setattr(float32_products, "keeps_float32", lambda: False)
    assert precision_within(SIXTEEN) == "highest"


def test_they_are_as_before_after_an_error(amd):
    before = precisions()
    with pytest.raises(KeyboardInterrupt), fast_products(SIXTEEN, ALONE, CPU):
        raise KeyboardInterrupt
    assert precisions() == before


def test_what_is_chosen_for_all_libraries_afterwards_counts(amd):
    """A library that was set itself would go its own way."""
    with fast_products(SIXTEEN, ALONE, CPU):
        pass
    torch.backends.fp32_precision = "tf32"
    assert [library.fp32_precision for library in LIBRARIES] == ["tf32", "tf32"]


def test_a_precision_that_somebody_chose_is_kept(amd):
    torch.set_float32_matmul_precision("high")
    with fast_products(SIXTEEN, ALONE, CPU) as are_fast:
        assert not are_fast
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == "high"


def test_one_chosen_for_a_library_of_torch_is_kept(amd):
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError):
        torch.get_float32_matmul_precision()
    with fast_products(SIXTEEN, ALONE, CPU) as are_fast:
        assert not are_fast
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"


def test_products_keep_float32_as_torch_makes_them():
    assert keeps_float32()


@pytest.mark.parametrize("kind", ["mm", "addmm", "bmm", "baddbmm"])
def test_products_of_rounded_factors_are_noticed(monkeypatch, kind):
    plain = getattr(torch, kind)

    def rounding(*factors: torch.Tensor) -> torch.Tensor:
        return plain(*(factor.bfloat16() for factor in factors)).float()

    monkeypatch.setattr(torch, kind, rounding)
    assert not keeps_float32()


@pytest.mark.parametrize("shape", [(16, 512), (512, 16), (512, 512)])
def test_products_of_one_shape_that_are_rounded_are_noticed(monkeypatch, shape):
    """To ten bits, as in TF32."""
    plain = torch.mm

    def rounding(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        product = plain(left, right)
        return product.half().float() if product.shape == shape else product

    monkeypatch.setattr(torch, "mm", rounding)
    assert not keeps_float32()


def precisions_in(method: str, monkeypatch) -> list[str]:
    """The precision at each call of a method of the learner."""
    seen, plain = [], getattr(Learner, method)

    def noting(self, *args):
        seen.append(torch.get_float32_matmul_precision())
        return plain(self, *args)

    monkeypatch.setattr(Learner, method, noting)
    return seen


def test_a_run_learns_with_them_and_its_log_says_so(amd, monkeypatch, tmp_path):
    seen = precisions_in("training_step", monkeypatch)
    data = tiny_data(tmp_path, clips={"train": 17, "validation": 1})
    run = train(data, tiny_model("gru"), tiny_training(updates=2, batch_size=16), out=tmp_path / "run")
    assert seen == ["medium", "medium"]
    assert torch.get_float32_matmul_precision() == "highest"
    said = "oneDNN multiplies float32 matrices, as it is faster than MKL on this processor"
    assert (run / LOG).read_text(encoding="utf-8").count(said) == 1
    few = train(data, tiny_model("gru"), tiny_training(updates=1, batch_size=8), out=tmp_path / "few")
    assert "oneDNN" not in (few / LOG).read_text(encoding="utf-8")


def test_a_forecast_is_made_with_them(amd, monkeypatch, tmp_path):
    seen = precisions_in("loss_of", monkeypatch)
    data = tiny_data(tmp_path, clips={"train": 17, "validation": 1})
    foresee(data, tiny_model("gru"), tiny_training(updates=2, batch_size=16))
    assert set(seen) == {"medium"}
