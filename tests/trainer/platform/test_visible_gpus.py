"""The models of the visible GPUs, by a driver that answers from memory; which GPUs are visible: test_gpu_stats.py."""

from __future__ import annotations

import ctypes

import pytest

from trainer.platform.visible_gpus import GpuModel, visible_models


class Driver:
    """NVML of a machine with an H200 and an A100."""

    class NVMLError(Exception):
        """What NVML raises."""

    class NVMLError_NotSupported(NVMLError):  # noqa: N801
        """What NVML raises of a GPU that cannot be divided."""

    NVMLError_FunctionNotFound = NVMLError_NotSupported

    NAMES = ("NVIDIA H200", "NVIDIA A100")

    def __init__(self, *, fails_at: str = "", divided: bool | None = None) -> None:
        self._fails_at, self._divided = fails_at, divided
        self.users = self.starts = 0

    def nvmlInit(self) -> None:  # noqa: N802 (NVML's names)
        self._answer("init")
        self.starts += 1
        self.users += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self._answer("shutdown")
        self.users -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        self._answer("count")
        return len(self.NAMES)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:  # noqa: N802
        assert uuid == "MIG-1"
        return 0

    def nvmlDeviceIsMigDeviceHandle(self, _: int) -> ctypes.c_uint:  # noqa: N802
        return ctypes.c_uint(self._divided is not None and self._fails_at == "mode")

    def nvmlDeviceGetMigMode(self, _: int) -> tuple[int, int]:  # noqa: N802
        if self._divided is None:
            raise self.NVMLError_NotSupported
        self._answer("mode")  # of an instance
        return int(self._divided), int(self._divided)

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        self._answer("name")
        return self.NAMES[handle]

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
    assert driver.starts == bool(names)  # where CUDA shows none, nobody waits for the driver


def test_a_model_has_what_its_programs_depend_on() -> None:
    assert visible_models(Driver())[0] == GpuModel("NVIDIA H200", driver="580.159")


def test_a_divided_gpu_and_an_instance_of_it_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.is_divided for one in visible_models(Driver(divided=True))] == [True, True]
    assert [one.is_divided for one in visible_models(Driver(divided=False))] == [False, False]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1")
    assert [one.is_divided for one in visible_models(Driver(divided=True, fails_at="mode"))] == [True]


@pytest.mark.parametrize("fails_at", ["init", "count", "name", "shutdown"])
def test_without_an_answering_driver_no_gpu_is_known(fails_at: str) -> None:
    driver = Driver(fails_at=fails_at)
    assert visible_models(driver) == []
    assert driver.users == (fails_at == "shutdown")
