# SPDX-License-Identifier: Apache-2.0
# The front door; CMake does the work.
#
#   make            release build: build/release/bin/kw and build/release/lib/libkw.so
#   make demo       build, bind a small model from configs/ and run it       ARGS='--text FILE'
#   make test       build everything and run every test                      ARGS='-L unit'
#   make check      format, lint, layers, headers, names, sizes, documents
#   make quick      the tests that need under a minute
#   make install    PREFIX=/opt/kernelwright
#   make format     rewrite sources in the project's format
#   make asan | ubsan | tsan    build and run the tests under a sanitizer
#
# On Debian 12 each installs the packages it misses when root, else prints the apt-get line.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
RELEASE := build/release
PYTHON ?= python3
# CI holds warnings to be errors; a user with another compiler does not.
WERROR := $(if $(CI),ON,OFF)
CTEST := ctest -j$(JOBS) --no-label-summary --preset

.DEFAULT_GOAL := build
.PHONY: build configure setup demo test quick check format install clean asan ubsan tsan

setup:
	@tools/setup.sh build

configure: setup
	@cmake --preset release -DKW_WERROR=$(WERROR) >/dev/null

build: configure
	@cmake --build $(RELEASE) -j$(JOBS) --target kw

demo: build
	@$(RELEASE)/bin/kw demo $(ARGS)

test quick: configure
	@cmake --build $(RELEASE) -j$(JOBS)
	@$(CTEST) release $(if $(filter quick,$@),-LE 'slow|gpu') $(ARGS)

check: configure
	@tools/setup.sh check
	@tools/fetch_clang_tidy.sh
	@$(PYTHON) tools/check.py --build $(RELEASE) $(ARGS)

format:
	@tools/setup.sh check
	@$(PYTHON) tools/check_format.py --fix

install: configure
	@cmake --build $(RELEASE) -j$(JOBS) --target kw
	@cmake --install $(RELEASE) --prefix $(PREFIX)

asan ubsan tsan: setup
	@tools/setup.sh $(if $(filter tsan,$@),tsan,build)
	@cmake --preset $@ >/dev/null
	@cmake --build build/$@ -j$(JOBS)
	@$(CTEST) $@ -LE 'gpu|script' $(ARGS)

clean:
	@cmake -E rm -rf build
