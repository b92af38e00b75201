# Every target makes its own .venv on first use: Python 3.11 or 3.12 and make are all that a machine needs.
PYTHON ?= python3
CONFIG ?=
DATA   ?= data/sample
RUN    ?= runs/sample
RUNNER ?= local
ARGS   ?=
GPU    ?=
EXTRAS := preprocess,trainer,dev$(if $(GPU),$(comma)gpu)
comma  := ,
READY  := .venv/.ready$(if $(GPU),-gpu)
BIN    := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup lock preprocess validate train synthesize quickstart test test-quick lint types bench sample clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  variables: CONFIG=file.yaml DATA=dir RUN=dir RUNNER=local GPU=1 ARGS=\"key=value …\""

setup: $(READY)  ## the environment alone (GPU=1: with CUDA libraries)

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable ".[$(EXTRAS)]"
	touch $@

lock:  ## resolve pyproject.toml anew into requirements.lock (needs uv)
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --no-emit-index-url --no-header --no-annotate --upgrade --output-file requirements.lock
