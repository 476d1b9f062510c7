# The front door. Every target sets the machine up first (scripts/setup.sh, quiet when all is there).
#   make test            make fuzz ARGS="--help"            make build PRESET=debug

SHELL := bash
.SHELLFLAGS := -o pipefail -c
PRESET ?= default
ARGS ?=
JOBS ?= $(shell nproc)

# The presets name these folders too.
BUILD_default := build
BUILD_debug := build-debug
BUILD_asan := build-asan
BUILD := $(BUILD_$(PRESET))
ifeq ($(BUILD),)
$(error unknown PRESET '$(PRESET)': default, debug or asan)
endif

.PHONY: fuzz-parsers fuzz-parsers-merge help setup build test test-slow reductions calibrate fuzz bench check clean
.DEFAULT_GOAL := help

help:
	@echo 'make setup    install what is missing: apt packages, .venv'
	@echo 'make build    build/ulpfuzz and build/ulpfuzz-libtorch (PRESET=debug or asan for others)'
	@echo 'make test     all tests'
	@echo 'make test-slow  eager@cpp against eager@py on 2,000 cases, operator rows on 30 programs each'
	@echo 'make reductions  the tables of docs/reducers.md (hours); ARGS="--only TEXT" for some lines'
	@echo 'make calibrate  the judge measured: false alarms and recall (hours); ARGS="--quick" in a minute'
	@echo 'make fuzz     fuzz for two minutes; ARGS= goes to "ulpfuzz fuzz", a later --time wins'
	@echo 'make fuzz-parsers  libFuzzer on our own parsers, both sanitizers (clang); ARGS="-runs=100000"'
	@echo 'make fuzz-parsers-merge  the corpora that have grown made small, and what is new kept in fuzz/targets/corpus'
	@echo 'make bench    all benchmarks'
	@echo 'make check    clang-format and clang-tidy'
	@echo 'make clean    remove the build folders (not .venv)'

setup:
	@scripts/setup.sh

# Configuring is ninja's to repeat; here it is done once, and again when the preset changes.
$(BUILD)/build.ninja: CMakePresets.json | setup
	@cmake --preset $(PRESET) >$(BUILD).log 2>&1 || { cat $(BUILD).log >&2; exit 1; }
	@mv $(BUILD).log $(BUILD)/configure.log
	@touch $@

build: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) | sed -u '/^ninja: no work to do/d; /Re-checking globbed/d'

test: build
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) $(ARGS)

test-slow: build
	@ULPFUZZ_BUILD_DIR=$(BUILD) ULPFUZZ_PARITY_CASES=2000 $(BUILD)/test_e2e --gtest_filter='EagerParity.*' $(ARGS)
	@ULPFUZZ_BUILD_DIR=$(BUILD) ULPFUZZ_ROW_CASES=30 $(BUILD)/test_ops --gtest_filter='Rows.*' $(ARGS)

reductions: build
	@for what in planted known minifier; do \
	  .venv/bin/python tests/reductions/run.py $$what --ulpfuzz $(BUILD)/ulpfuzz $(ARGS) || exit 1; done

calibrate: build
	@$(BUILD)/ulpfuzz calibrate -o ulpfuzz-out/calibration $(ARGS)

fuzz: build
	@$(BUILD)/ulpfuzz fuzz --time 120s $(ARGS)

parsers := $(basename $(notdir $(wildcard fuzz/targets/parse_*.cc fuzz/targets/open_*.cc)))

.PHONY: build-parsers
build-parsers:
	@scripts/setup.sh fuzz
	@cmake --preset libfuzzer >build-libfuzzer.log 2>&1 || { cat build-libfuzzer.log >&2; exit 1; }
	@mv build-libfuzzer.log build-libfuzzer/configure.log
	@cmake --build build-libfuzzer -j $(JOBS) --target fuzz_seeds fuzz_targets
	@cd build-libfuzzer && ./fuzz_seeds seeds

# Each target grows a corpus of its own in build-libfuzzer/corpus, and begins with generated seeds and
# what is kept of earlier runs. ASAN_OPTIONS: a tenth faster; a crash is better run again without.
fuzz-parsers: ARGS := $(or $(ARGS),-max_total_time=60)
fuzz-parsers: build-parsers
	@set -e; cd build-libfuzzer; \
	export ASAN_OPTIONS=$${ASAN_OPTIONS-quarantine_size_mb=16:malloc_context_size=0}; \
	for target in $(parsers); do \
	  mkdir -p corpus/$$target; echo "$$target"; \
	  ./fuzz_$$target -dict=seeds/$$target.dict -rss_limit_mb=2048 -malloc_limit_mb=1024 \
	    $$(sed -n 's/^\([a-z_]*\) = /-\1=/p' ../fuzz/targets/$$target.options) \
	    -print_final_stats=1 $(ARGS) corpus/$$target seeds/$$target ../fuzz/targets/corpus/$$target; done

fuzz-parsers-merge: build-parsers
	@set -e; for target in $(parsers); do scripts/merge_corpus.sh $$target; done

bench: build
	@set -e; for bench in $(wildcard bench/*.cc); do \
	  $(BUILD)/bench_$$(basename $$bench .cc) $(ARGS); done

check:
	@scripts/setup.sh check
	@scripts/check.sh $(ARGS)

clean:
	@rm -rf build build-debug build-asan
