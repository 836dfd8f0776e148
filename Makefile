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
	@echo "Checking this machine, and compiling DeepSpeed's operator if it is not there yet (half a minute, once) ..."
	@$(BIN)/paceline doctor --fix
	@echo "Measuring: paceline run quick ..."
	@$(BIN)/paceline run quick

test: $(READY)
	@echo "Checking this machine, and compiling DeepSpeed's operator if it is not there yet (half a minute, once) ..."
	@$(BIN)/paceline doctor --fix
	@echo "Running the tests (about six minutes on two cores; real engines take part) ..."
	@$(BIN)/pytest

lint: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

install: $(READY)

# pip says nothing with --quiet but its warnings and errors: what takes minutes is told before it begins.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python >= 3.11 is needed, this is " + sys.version)'
	@echo "Making the environment in $(VENV) and installing PyTorch, DeepSpeed and Ray (2 to 3 minutes, about 2 GB) ..."
	@$(PYTHON) -m venv $(VENV)
	@echo "  PyTorch ..."
	@$(BIN)/python -m pip install --quiet $(TORCH_PIP_ARGS) --constraint constraints.txt torch
	@echo "  DeepSpeed, Ray and Paceline itself ..."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	@touch $(READY)

clean:
	rm -rf $(VENV)
