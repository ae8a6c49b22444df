# SPDX-License-Identifier: Apache-2.0
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: facts help install demo test lint bench p4 proto finsy-env mininet test-mininet soak soak-mininet clean

help: ## Show these targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(STAMP) ## Create .venv and install the project into it
ifeq ($(origin PYTHON),command line)
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; has = sys.argv[1]; sys.exit(None if v == has else f".venv has Python {has}, not {v}: make clean first")' "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
endif

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if (3, 11) <= v < (3, 14) else f"Python 3.11 to 3.13 is needed, this is {v.major}.{v.minor}: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

demo: install ## Run the demonstration: three faults on a 4-plane fabric
	$(BIN)/mrc demo

test: install ## Lint, type-check, and run all tests but those of test-mininet
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -m "not mininet"

test-mininet: install ## Run the tests on fabrics of real packets, in real time (root; see mrc doctor)
	$(BIN)/pytest -m mininet

bench: install ## Measure the embedded switch and the virtual world
	$(BIN)/python -m benchmarks

facts: install ## Make docs/traceability.md anew from the facts and the tests that name them
	$(BIN)/python tests/facts/traceability.py

p4: install ## Recompile the P4 program (needs p4c-bm2-ss)
	$(BIN)/python -m p4src.compile

mininet: install ## Link Debian's Mininet into .venv, and show what the Mininet world needs
	$(BIN)/mrc doctor --link-mininet

soak: install ## A million packets in virtual time under random faults, with a look for leaks
	$(BIN)/python -m testbed.soak

soak-mininet: install ## Ten runs of each scenario with real packets (root; resumable)
	$(BIN)/python -m testbed.mininet.soak

finsy-env: .venv-finsy/.installed ## Create .venv-finsy, for the tests with finsy as the P4Runtime client

.venv-finsy/.installed:
	$(PYTHON) -m venv .venv-finsy
	.venv-finsy/bin/python -m pip install --quiet --disable-pip-version-check finsy==0.30.0
	touch $@

proto: install ## Make the agent's gRPC stubs anew (Python 3.11 or 3.12)
	$(BIN)/python -m endpoint.agent.proto.generate

clean: ## Remove the environment and every result
	rm -rf $(VENV) .venv-finsy results build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
