# Every target makes its own .venv on first use: Python 3.11 or 3.12 and make are all that a machine needs.
PYTHON ?= python3
CONFIG ?=
LEVEL  ?=
DATA   ?= $(if $(filter %learn_check.yaml,$(CONFIG)),data/learn/data,$(if $(filter %learn_check_voices.yaml,$(CONFIG)),data/learn_voices/data,data/sample))
RUN    ?= $(if $(filter %learn_check.yaml,$(CONFIG)),runs/learn,$(if $(filter %learn_check_voices.yaml,$(CONFIG)),runs/learn_voices,runs/sample))
RUNNER ?= local
ARGS   ?=
# long recordings, two datasets to compare, an utterance to trace
ROOT ?=
A  ?=
B  ?=
ID ?=
GPU    ?=
# what `make synthesize` says, and how; FILE= in the place of TEXT=
FILE      ?=
TEXT      ?= The quick brown fox jumps over the lazy dog.
# the sample's language and voice for a model that learned them; any other model speaks the one that it knows, in its own
ifneq ($(origin LANGUAGE),command line)  # the environment's is a variable of gettext
LANGUAGE := $(if $(filter runs/sample,$(RUN)),eng_Latn)
endif
REFERENCE ?= $(if $(filter runs/sample,$(RUN)),tests/corpora/english/wavs/EN001-0001.wav)
OUT       ?= $(RUN)/speech.wav

comma  := ,
EXTRAS := preprocess,formats,pitch,vad,dnsmos,text-language,trainer,speech,evaluation,dev,docs$(if $(GPU),$(comma)gpu)
READY  := .venv/.ready$(if $(GPU),-gpu)
BIN    := .venv/bin
# an environment of its own: PyTorch's CUDA 13 and TensorFlow's CUDA 12 put cuDNN and NCCL into the same files
BENCH  := .venv-bench
BENCHES ?= quality parts memory build growth duplicates scale validation loader waiting without_mels shapes step generation vocoders tuning flink

.DEFAULT_GOAL := help
.PHONY: help setup preprocess download segment score corpora validate repair replay compare trace report flink-up flink-down flink-status doctor
.PHONY: docs docs-serve diagrams inspect-input profile tune train vocoder vocoder-mels monitor evaluate evaluate-speech synthesize export quickstart learn-check test test-data test-docs test-model test-training test-quick test-quick-data test-quick-trainer soak lint types bench bench-gpu schedules lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  variables: CONFIG=file.yaml DATA=dir RUN=dir RUNNER=local|flink|spark GPU=1 PYTHON=python3 ARGS="key=value …"'
	@echo '             FLINK_MASTER=host:port FLINK_JOB_SERVER_JAR=file.jar FLINK_ENVIRONMENT=EXTERNAL:host:port (RUNNER=flink)'
	@echo '             SPARK_MASTER=spark://host:port (RUNNER=spark; unset: Spark on this machine)'
	@echo '             TEXT= FILE= LANGUAGE= REFERENCE= OUT= (synthesize)'

setup: $(READY)  ## create the environment; GPU=1 installs CUDA's libraries too

# before .venv is made: pip refuses another Python later, and .venv would stay
VERSION_CHECK := import sys; v = sys.version_info[:2]; (3, 11) <= v < (3, 13) or sys.exit("error: $(PYTHON) is Python %d.%d, expected 3.11 or 3.12: make setup PYTHON=python3.12" % v)

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c '$(VERSION_CHECK)'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable ".[$(EXTRAS)]"
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --no-deps resemblyzer
	touch .venv/.ready $@

# a path in quotes, which may have spaces; ~/ at its beginning, which a shell leaves alone within quotes, is the user's folder
path = "$(subst ^:^,,$(subst ^:^~/,$(HOME)/,^:^$1))"

preprocess: $(READY)  ## build shards from corpora: CONFIG= DATA= RUNNER= ARGS=
	$(BIN)/myxtts-data build $(call path,$(or $(CONFIG),configs/preprocess_sample.yaml)) --data $(call path,$(DATA)) --runner $(RUNNER) $(ARGS)

download: $(READY)  ## download and unpack a corpus into data/, or list those that can be: CORPUS= ARGS=
	$(BIN)/myxtts-data download $(CORPUS) $(ARGS)

segment: $(READY)  ## cut long recordings without texts at pauses, into a table of parts: ROOT= OUT=parts.csv ARGS=
	$(if $(ROOT),,$(error ROOT= is empty: expected the folder of the recordings))
	$(BIN)/myxtts-data segment $(call path,$(ROOT)) --out $(call path,$(if $(filter file,$(origin OUT)),parts.csv,$(OUT))) $(ARGS)

score: $(READY)  ## predict how listeners rate each recording of the corpora (DNSMOS), into a table: CONFIG= OUT=scores.csv ARGS="--of text-language"
	$(BIN)/myxtts-data score $(call path,$(or $(CONFIG),configs/preprocess_sample.yaml)) \
	  --out $(call path,$(if $(filter file,$(origin OUT)),scores.csv,$(OUT))) $(ARGS)

corpora: $(READY)  ## list the corpus readers, with the layout and the options of each
	$(BIN)/myxtts-data corpora

validate: $(READY)  ## check every byte of a dataset and every statement about it: DATA= RUNNER= ARGS=--changed
	$(BIN)/myxtts-data validate --data $(call path,$(DATA)) --runner $(RUNNER) $(ARGS)

repair: $(READY)  ## rebuild damaged files, to the same bytes: DATA= RUNNER= ARGS=
	$(BIN)/myxtts-data repair --data $(call path,$(DATA)) --runner $(RUNNER) $(if $(CONFIG),$(call path,$(CONFIG))) $(ARGS)

replay: $(READY)  ## try rejected utterances again, after their cause was fixed: DATA= RUNNER= ARGS=
	$(BIN)/myxtts-data replay --data $(call path,$(DATA)) --runner $(RUNNER) $(if $(CONFIG),$(call path,$(CONFIG))) $(ARGS)

# exit code 1 means that the datasets differ, which is a result and no error
compare: $(READY)  ## show what changed between two datasets, by utterance and in distribution: A= B= ARGS="--out compare.html"
	$(BIN)/myxtts-data compare "$(A)" "$(B)" $(ARGS) || test $$? -eq 1

trace: $(READY)  ## find the record, audio file and parameters of an utterance, or the reverse: DATA= ID= ARGS="--mel mel.png"
	$(BIN)/myxtts-data trace "$(ID)" --data $(call path,$(DATA)) $(ARGS)

report: $(READY)  ## write report.html of a dataset again, with plots and clips: DATA=
	$(BIN)/myxtts-data report --data $(call path,$(DATA))

flink-up: $(READY)  ## start a Flink cluster on this machine for RUNNER=flink; FLINK_MASTER=localhost:8081
	$(BIN)/myxtts-data flink up $(ARGS)

flink-down: $(READY)  ## stop the Flink cluster; ARGS=--force even if jobs run
	$(BIN)/myxtts-data flink down $(ARGS)

flink-status: $(READY)  ## show the Flink cluster: slots, job server, running jobs
	$(BIN)/myxtts-data flink status

doctor: $(READY)  ## check this machine for what builds and training need, with advice: RUNNER= DATA= RUN= GPU=1
	status=0; $(BIN)/myxtts-data doctor --runner $(RUNNER) --data $(call path,$(DATA)) || status=$$?; \
	  $(BIN)/myxtts-train doctor --run $(call path,$(RUN)) || status=$$?; exit $$status

inspect-input: $(READY)  ## show batch shapes, padding and sampling of a training config: CONFIG= DATA= ARGS="--out input.png"
	$(BIN)/myxtts-train inspect-input $(call path,$(or $(CONFIG),configs/train_sample.yaml)) --data $(call path,$(DATA)) $(ARGS)

profile: $(READY)  ## measure the time of each batch shape, and record a profile: CONFIG= DATA= OUT=runs/sample/profile ARGS=
	$(BIN)/myxtts-train profile $(call path,$(or $(CONFIG),configs/train_sample.yaml)) --data $(call path,$(DATA)) \
	  --out $(call path,$(if $(filter file,$(origin OUT)),$(RUN)/profile,$(OUT))) $(ARGS)

tune: $(READY)  ## choose settings by trials of the step on this machine, and write a config: CONFIG= DATA= OUT=tuned.yaml ARGS=--raise-batch
	exec $(BIN)/myxtts-train tune $(call path,$(or $(CONFIG),configs/train_sample.yaml)) --data $(call path,$(DATA)) \
	  --out $(call path,$(if $(filter file,$(origin OUT)),tuned.yaml,$(OUT))) $(ARGS)

# exec: make then signals the training itself, and not a shell before it
train: $(READY)  ## train a model, from its last checkpoint if there is one: CONFIG= DATA= RUN= ARGS=
	exec $(BIN)/myxtts-train train $(call path,$(or $(CONFIG),configs/train_sample.yaml)) --data $(call path,$(DATA)) --run $(call path,$(RUN)) $(ARGS)

vocoder: $(READY)  ## train a vocoder, from its last checkpoint if there is one: CONFIG= DATA= RUN= ARGS=
	exec $(BIN)/myxtts-train vocoder train $(call path,$(or $(CONFIG),configs/vocoder_sample.yaml)) --data $(call path,$(DATA)) --run $(call path,$(RUN)) $(ARGS)

monitor: $(READY)  ## watch a training from outside: progress, losses, its process, the GPUs: RUN= ARGS=--once
	$(BIN)/myxtts-train monitor $(call path,$(RUN)) $(ARGS)

evaluate: $(READY)  ## compute losses and synthesis metrics of a checkpoint on DATA's validation or test split: RUN= DATA= ARGS="--split test"
	$(BIN)/myxtts-train evaluate --run $(call path,$(RUN)) --data $(call path,$(DATA)) $(ARGS)

vocoder-mels: $(READY)  ## predict the mels of a dataset by a trained model, for the setting mels of a vocoder: RUN= DATA= OUT=runs/sample/mels
	$(BIN)/myxtts-train vocoder mels $(call path,$(RUN)) --data $(call path,$(DATA)) --out $(call path,$(if $(filter file,$(origin OUT)),$(RUN)/mels,$(OUT))) $(ARGS)

evaluate-speech: $(READY)  ## speak DATA's validation or test split and compare words, pitch and voice with the recordings: RUN= DATA= ARGS="--clips 100"
	$(BIN)/myxtts-speak evaluate $(call path,$(RUN)) --data $(call path,$(DATA)) $(ARGS)

# as it was given, in the environment too, into which make would put it with its $( ) evaluated
unexport TEXT
# exit code 1 means that a sentence is implausible, which the command says; the file is written
synthesize: export SAID := $(value TEXT)
synthesize: $(READY)  ## synthesize a text of any length: RUN= TEXT= FILE= LANGUAGE= REFERENCE= OUT= ARGS=
	$(BIN)/myxtts-speak say $(if $(FILE),--file $(call path,$(FILE))) $(if $(LANGUAGE),--language $(LANGUAGE)) \
	  $(if $(REFERENCE),--reference $(call path,$(REFERENCE))) --out $(call path,$(OUT)) $(ARGS) \
	  -- $(call path,$(RUN)) $(if $(FILE),,"$$SAID") || test $$? -eq 1

export: $(READY)  ## export a run for speaking on other machines, and as SavedModel: RUN= OUT=runs/sample/export ARGS=
	$(BIN)/myxtts-train export --run $(call path,$(RUN)) --out $(call path,$(if $(filter file,$(origin OUT)),$(RUN)/export,$(OUT))) $(ARGS)

quickstart: preprocess validate train synthesize  ## preprocess, validate, train, synthesize: the sample corpus that ships with the tests

# one spoken corpus serves many runs; both can be named: DATA= RUN=
ifneq ($(filter-out voices,$(LEVEL)),)
$(error LEVEL=$(LEVEL): expected LEVEL=voices or none)
endif
LEARN        := learn$(if $(filter voices,$(LEVEL)),_voices)
LEARN_CONFIG := learn_check$(if $(filter voices,$(LEVEL)),_voices).yaml
LEARN_CORPUS := data/$(LEARN)/corpus
LEARN_DATA   := $(if $(filter file,$(origin DATA)),data/$(LEARN)/data,$(DATA))
LEARN_RUN    := $(if $(filter file,$(origin RUN)),runs/$(LEARN),$(RUN))

learn-check: $(READY) $(LEARN_CORPUS)/metadata.csv  ## train on synthetic speech and check that the model learns to speak, 28 to 75 minutes on 2 cores; needs flite. LEVEL=voices: in voices that it never heard, 50 minutes; needs espeak-ng: DATA= RUN= ARGS=
	$(MAKE) preprocess CONFIG=configs/preprocess_$(LEARN_CONFIG) DATA=$(LEARN_DATA) ARGS=
	$(MAKE) train CONFIG=configs/$(LEARN_CONFIG) DATA=$(LEARN_DATA) RUN=$(LEARN_RUN)
	$(BIN)/python -m tests.learn.$(if $(filter voices,$(LEVEL)),many_voices.check $(LEARN_RUN) $(LEARN_CORPUS),check $(LEARN_RUN) $(LEARN_DATA))

data/learn/corpus/metadata.csv: tests/learn/corpus.py tests/learn/grammar.py | $(READY)
	$(BIN)/python -m tests.learn.corpus $(@D)

data/learn_voices/corpus/metadata.csv: tests/learn/many_voices/corpus.py tests/learn/many_voices/texts.py | $(READY)
	$(BIN)/python -m tests.learn.many_voices.corpus $(@D)

# Three at a time, the trainings before the other tests: two leave cores idle while they wait, four take turns and lose time.
test: $(READY)  ## lint, types and all tests, three processes at a time; each lists its slowest tests at the end
	$(MAKE) --jobs=3 --keep-going --output-sync=target lint types test-training test-data test-model test-docs

test-data: $(READY)  ## the tests of preprocess, pipelines and shared
	$(BIN)/pytest --ignore tests/trainer --ignore tests/learn --ignore tests/docs

test-docs: $(READY)  ## the commands and programs of the documents
	$(BIN)/pytest tests/docs

# the folders whose tests train models and share the trained runs, in the order in which these become ready
TRAINING_TESTS := $(addprefix tests/trainer/,speech server distributed monitoring tools training)

test-model: $(READY)  ## the tests of the trainer's input, model, optimizer and checkpoints, and of the learn check
	$(BIN)/pytest tests/trainer tests/learn $(addprefix --ignore ,$(TRAINING_TESTS))

test-training: $(READY)  ## the tests of the trainer that train models
	$(BIN)/pytest $(TRAINING_TESTS)

QUICK := -m "not slow and not soak"

test-quick: $(READY)  ## the tests that take less than half a second each, in two processes
	$(MAKE) --jobs=2 --keep-going --output-sync=target test-quick-data test-quick-trainer

test-quick-data: $(READY)
	$(BIN)/pytest $(QUICK) --ignore tests/trainer --ignore tests/learn

test-quick-trainer: $(READY)
	$(BIN)/pytest $(QUICK) tests/trainer tests/learn

soak: $(READY) $(BENCH)/.ready  ## repetition, and the dearest tests: the whole matrix, many kills, hundreds of faults; takes hours
	$(BIN)/pytest -m "soak and not torch"
	$(BENCH)/bin/pytest -m torch tests/trainer/vocoder tests/pipelines/export

# of mkdocs 2, which this site does not use
docs docs-serve: export NO_MKDOCS_2_WARNING := 1
docs: $(READY)  ## build the documentation into build/site; a dead link is an error
	$(BIN)/mkdocs build --strict
	@echo build/site/index.html

docs-serve: $(READY)  ## serve the documentation at http://127.0.0.1:8000
	$(BIN)/mkdocs serve

diagrams: $(READY)  ## draw the documentation's diagrams into docs/images
	$(BIN)/python -m docs.generator.diagrams docs/images

lint: $(READY)  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## mypy
	$(BIN)/mypy

$(BENCH)/.ready: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check --constraint requirements.lock \
	  --editable ".[preprocess,formats,pitch,vad,dnsmos,text-language,trainer,speech,dev,bench]"
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check --constraint requirements.lock --no-deps resemblyzer
	touch $@

bench: $(BENCH)/.ready  ## run the benchmarks, each beside its floor or its peers: BENCHES=
	status=0; export BENCH_SUMMARY=$$(mktemp); \
	  for one in $(BENCHES); do $(BENCH)/bin/python -m tests.bench.$$one || status=$$?; done; \
	  $(BENCH)/bin/python -m tests.bench.summary $$BENCH_SUMMARY; rm -f $$BENCH_SUMMARY; exit $$status

bench-gpu: $(READY)  ## measure a GPU's utilisation, stall, step time, MFU and largest batch: GPU=1 ARGS="--out docs/gpu.md"
	$(BIN)/python -m tests.bench.gpu $(ARGS)

schedules: $(READY)  ## draw docs/schedules.svg, the learning rates of the presets
	$(BIN)/python -m tests.bench.schedules docs/schedules.svg

lock: $(READY)  ## resolve pyproject.toml into requirements.lock
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --no-emit-index-url --no-header --no-annotate --upgrade --output-file requirements.lock

clean:  ## remove environments, caches, and data and runs of the sample and the learn checks
	rm -rf .venv .venv-bench build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	rm -rf data/sample data/learn data/learn_voices runs/sample runs/learn runs/learn_voices
