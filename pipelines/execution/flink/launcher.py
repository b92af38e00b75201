"""The process of a Python worker that a TaskManager starts (environment PROCESS): the container contract, then Beam.

The TaskManager names a provision service; what that says goes into the environment, where Beam's worker looks for
it. The paths of a build may be relative, so the worker goes to the folder that the build was started in. It imports
nothing from there, where a user may have a `shared` of his own. Started by a worker pool, it stays where that is.
"""

from __future__ import annotations

import argparse
import os
import sys

from pipelines.execution import worker

FOLDER = "MYXTTS_FOLDER"
PROVISION_S = 30.0  # the service was there before this process was; if it has gone, so has the TaskManager


def main() -> None:
    """Become the worker with the id given, until the TaskManager hangs up."""
    os.dup2(2, 1)  # what a worker prints must not fill a pipe that nobody reads
    parser = argparse.ArgumentParser(description="Started by Flink's TaskManagers.")
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    asked, _ = parser.parse_known_args()
    os.chdir(os.environ.get(FOLDER, "."))
    os.environ.update(read_provision_info(asked.provision_endpoint, worker_id=asked.id))
    sys.argv[1:] = []
    worker.main()


def read_provision_info(endpoint: str, *, worker_id: str) -> dict[str, str]:
    """What the provision service says, as the environment variables that Beam's worker reads."""
    import grpc
    from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc
    from google.protobuf import json_format, text_format

    with grpc.insecure_channel(endpoint) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        info = service.GetProvisionInfo(request, metadata=[("worker_id", worker_id)], timeout=PROVISION_S).info
    return {
        "WORKER_ID": worker_id,
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "CONTROL_API_SERVICE_DESCRIPTOR": text_format.MessageToString(info.control_endpoint),
        "LOGGING_API_SERVICE_DESCRIPTOR": text_format.MessageToString(info.logging_endpoint),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
    }


if __name__ == "__main__":
    main()
