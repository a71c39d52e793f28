# install, check, test, coverage: what CI runs is what stands here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip asks its index for itself on each call; one look is enough.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
EXTRAS ?=
COMMA := ,
WANTED = $(subst $(COMMA), ,$(EXTRAS))

.PHONY: help run test soak check coverage bench bench-telegram bench-budget bench-recall bench-peers lock clean
.DEFAULT_GOAL := help

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(VENV)/run.stamp ## sets everything up, then runs the bot (terminal chat without a token)
	@test -z "$(filter archive,$(WANTED))" || $(MAKE) --no-print-directory $(VENV)/archive.stamp
	@test -z "$(filter-out archive,$(WANTED))" || $(MAKE) --no-print-directory $(VENV)/test.stamp
	@$(BIN)/python -m keepsake.llm.local wanted; status=$$?; test $$status -le 1 || exit $$status; \
	if test $$status -eq 0; then \
		$(MAKE) --no-print-directory --silent $(VENV)/local.stamp && $(BIN)/python -m keepsake.llm.local fetch \
		|| echo "Going on without the local model." >&2; \
	fi; \
	exec $(BIN)/python bot.py run

test: $(VENV)/test.stamp ## sets everything up, then runs the test suite
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

soak: $(VENV)/test.stamp $(VENV)/local.stamp ## the long tests
	$(BIN)/python -m keepsake.llm.local fetch
	$(BIN)/python -m pytest -m soak --timeout=3600 $(ARGS)

check: $(VENV)/test.stamp ## lint, types, imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: $(VENV)/test.stamp ## which lines the tests run
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report --skip-covered --show-missing

bench: $(VENV)/test.stamp ## the README's figures
	$(BIN)/python -m benchmarks $(ARGS)

bench-telegram: $(VENV)/test.stamp ## many people at once, and RAM over ten thousand messages
	$(BIN)/python -m benchmarks.telegram $(ARGS)

bench-budget: $(VENV)/test.stamp ## what assembling a prompt takes, and how prompts grow with a conversation
	$(BIN)/python -m benchmarks.budget $(ARGS)

bench-recall: $(VENV)/test.stamp ## recall on chats whose answers are known: DATA=folder
	$(BIN)/python -m benchmarks.recall $(DATA)

bench-peers: $(VENV)/test.stamp $(VENV)-peers/mem0.stamp $(VENV)-peers/langgraph.stamp ## the same work on keepsake and others: DATA=folder
	$(BIN)/python -m benchmarks.peers $(DATA) $(ARGS)

lock: ## resolves the newest allowed versions and writes lock/
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet 'pip-tools>=7.5'
	$(VENV)-lock/bin/pip-compile --quiet --upgrade --generate-hashes --strip-extras --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --no-header -o lock/run.txt pyproject.toml
	$(VENV)-lock/bin/pip-compile --quiet --upgrade --extra dev --extra archive --extra sentence-transformers --strip-extras \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-header --allow-unsafe \
		-c lock/run.txt -o lock/test.txt pyproject.toml
	sed -i "s/^\\(torch==[0-9.]*\\)+cpu/\\1/" lock/test.txt  # the local part is this machine's alone
	grep '^pyarrow==' lock/test.txt | $(VENV)-lock/bin/pip-compile --quiet --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --no-header --no-annotate -o lock/archive.txt -
	sed -i '1i # The extra `archive`: Parquet and its encryption (Apache-2.0); fsspec is in run.txt.' lock/archive.txt
	rm -r $(VENV)-lock

clean: ## removes what was installed; memory is not touched
	rm -rf $(VENV) $(VENV)-peers

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("keepsake needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: lock/run.txt | $(VENV)/bin/python
	$(PIP) --require-hashes --only-binary :all: -r lock/run.txt
	@touch $@

$(VENV)/archive.stamp: lock/archive.txt $(VENV)/run.stamp
	$(PIP) --require-hashes --only-binary :all: -r lock/archive.txt
	@touch $@

$(VENV)/local.stamp: lock/local.txt $(VENV)/run.stamp
	$(PIP) --require-hashes --only-binary :all: -r lock/local.txt
	@touch $@

# torch comes from the disk of some machines, so its hash differs: this lock holds versions only.
$(VENV)/test.stamp: lock/test.txt $(VENV)/run.stamp
	$(PIP) -r lock/test.txt
	@touch $@

# The others have environments of their own: their dependencies are none of ours.
$(VENV)-peers/%.stamp: lock/peer-%.txt
	$(PYTHON) -m venv $(VENV)-peers/$*
	$(VENV)-peers/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
