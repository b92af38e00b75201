"""The process of a Python worker that a TaskManager starts (environment PROCESS): Beam's container contract.

The provision service of the TaskManager provides the environment variables that Beam's worker reads. The worker changes
to the folder of the build, because its paths may be relative, but imports nothing from it: the folder may contain
another package named `shared`. A worker of a worker pool stays in the folder of the pool.
"""

from __future__ import annotations

import argparse
import os
import sys

from pipelines.execution import worker

FOLDER = "MYXTTS_FOLDER"
PROVISION_S = 30.0  # the service started before this process; if it does not answer, the TaskManager has ended


def main() -> None:
    """Run the worker with the given id until the TaskManager disconnects."""
    os.dup2(2, 1)  # nobody reads the pipe of stdout: prints would block the worker when it is full
    parser = argparse.ArgumentParser(description="Started by Flink's TaskManagers.")
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    arguments, _ = parser.parse_known_args()
    os.chdir(os.environ.get(FOLDER, "."))
    os.environ.update(read_provision_info(arguments.provision_endpoint, worker_id=arguments.id))
    sys.argv[1:] = []
    worker.main()


def read_provision_info(endpoint: str, *, worker_id: str) -> dict[str, str]:
    """The answer of the provision service, as the environment variables that Beam's worker reads."""
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
