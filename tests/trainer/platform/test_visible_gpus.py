"""The visible GPUs: those that CUDA would show, by a driver that answers from memory."""

from __future__ import annotations

import pytest

from trainer.platform.visible_gpus import GpuModel, visible_models


class Driver:
    """NVML of a machine with an H200 and an A100."""

    class NVMLError(Exception):
        """What NVML raises."""

    NAMES, CAPABILITIES = ("NVIDIA H200", "NVIDIA A100"), ((9, 0), (8, 0))

    def __init__(self, *, fails_at: str = "") -> None:
        self._fails_at = fails_at
        self.users = 0

    def nvmlInit(self) -> None:  # noqa: N802 (NVML's names)
        self._answer("init")
        self.users += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.users -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.NAMES)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-{handle}{handle}"

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        self._answer("name")
        return self.NAMES[handle]

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:  # noqa: N802
        return self.CAPABILITIES[handle]

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "580.159"

    def _answer(self, question: str) -> None:
        if question == self._fails_at:
            raise self.NVMLError


@pytest.fixture(autouse=True)
def _all_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["NVIDIA H200", "NVIDIA A100"]),
        ("1", ["NVIDIA A100"]),
        ("1,0", ["NVIDIA A100", "NVIDIA H200"]),
        ("GPU-11", ["NVIDIA A100"]),
        ("0,7,1", ["NVIDIA H200"]),  # CUDA reads up to the first entry that means no device
        ("-1", []),
        ("", []),
    ],
)
def test_the_models_are_those_of_the_gpus_that_cuda_shows(
    visible: str | None, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    driver = Driver()
    assert [model.name for model in visible_models(driver)] == names
    assert driver.users == 0


def test_a_model_has_what_its_programs_depend_on() -> None:
    assert visible_models(Driver())[0] == GpuModel("NVIDIA H200", compute_capability=(9, 0), driver="580.159")


@pytest.mark.parametrize("fails_at", ["init", "name"])
def test_without_an_answering_driver_no_gpu_is_known(fails_at: str) -> None:
    driver = Driver(fails_at=fails_at)
    assert visible_models(driver) == []
    assert driver.users == 0
