"""Several GPUs and several hosts: TF_CONFIG, collectives, devices, memory of devices."""
