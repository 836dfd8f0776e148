# Two commands do everything on a fresh Linux machine: `make demo` and `make test`.
#
# TORCH_PIP_ARGS says where torch comes from, for example the index of CPU-only or CUDA builds that PyTorch's install
# page names:  make demo TORCH_PIP_ARGS="--index-url <index>"
# Left empty, pip's own configuration decides.
PYTHON ?= python3
TORCH_PIP_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint install clean

demo: $(READY)
	$(BIN)/paceline doctor --fix
	$(BIN)/paceline run quick

test: $(READY)
	$(BIN)/paceline doctor --fix
	$(BIN)/pytest

lint: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

install: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python >= 3.11 is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH_PIP_ARGS) --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	touch $(READY)

clean:
	rm -rf $(VENV)
