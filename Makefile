# The few commands of the README. CMake and its presets do the work; see CONTRIBUTING.md.
#
#   CTEST_ARGS   passed to ctest by `make test`, e.g. make test CTEST_ARGS="-L unit"
#   SECONDS      of each target of `make fuzz`
#   NO_DEPS=1    does not look for packages (a system without apt, or your own installation)
#   prefix       where `make install` puts things, below DESTDIR if that is given

CTEST_ARGS ?=
SECONDS ?= 60
prefix ?= /usr/local

.PHONY: all release dev install demo test test-arm fuzz check format deps clean help
.DEFAULT_GOAL := release

all: release

release: deps ## build build/release/pada (plain `make`), with CUDA where nvcc works
	cmake --preset release
	cmake --build --preset release

dev: deps ## build build/dev/pada: sanitizers on, warnings are errors
	cmake --preset dev
	cmake --build --preset dev

install: release ## install program, library, header, manual pages: make install [DESTDIR=/tmp/x] [prefix=/usr]
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(prefix)"

demo: deps ## train two supernets on built-in data, rank and compare them; goes on if stopped
	cmake --preset cpu
	cmake --build --preset cpu --target pada
	tools/demo.sh build/cpu/pada build/demo

test: deps ## build and test dev and cpu; ends with "N passed, N failed, N skipped"
	@tools/test.sh $(CTEST_ARGS)

fuzz: ## fuzz every reader of files: make fuzz [SECONDS=60]; needs clang
	@tools/install-deps.sh --fuzz
	@tools/fuzz.sh $(SECONDS)

test-arm: deps ## build for aarch64 and run the unit tests in qemu
	@tools/install-deps.sh --arm
	@tools/test-arm.sh $(CTEST_ARGS)

check: deps ## layers, headers, format, and clang-tidy on changed files
	tools/check-all.sh

format: ## rewrite the sources in place with clang-format
	tools/check-format.sh --fix

deps: ## install missing packages (Debian, Ubuntu)
	@tools/install-deps.sh $(if $(filter deps,$(MAKECMDGOALS)),--report)

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
