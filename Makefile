# `make` lists the targets. Requires Swift 6.3 and, on Linux, apt or the packages in .ci/dependencies; on macOS, Homebrew.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
OUTPUT ?= .build/docs
PORT ?= 8766

# The number of kills of `make soak`, and the seed of its random numbers.
KILLS ?= 2000
SEED ?= 1

# The duration of `make fuzz` in seconds, and the parsers that it tests (default: all).
SECONDS ?= 300
READERS ?=

# Additional arguments of `swift build` and `swift test`, such as -j 1.
SWIFTFLAGS ?=

# The number of cycles between modules, or between the folders of a module, that `make lint` allows.
CYCLES := 0

SHELL := /bin/bash

# On Linux the program contains the Swift runtime and the C++ library: it runs without an installation of Swift, and starts faster.
ifeq ($(shell uname -s),Linux)
    STATIC := .build/static
    # All relocations happen at the start (BIND_NOW); then their section is read-only (RELRO), like .rodata. The C code has buffer checks.
    # Tests/Integration/hardening.py checks the program.
    HARDENED := -Xswiftc -use-ld=lld -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker -T -Xlinker $(CURDIR)/.ci/read-only.ld \
        -Xcc -fstack-protector-strong -Xcc -D_FORTIFY_SOURCE=3
    RELEASE := -c release --disable-default-traits --static-swift-stdlib --disable-local-rpath -Xlinker -s \
        -Xswiftc -L$(CURDIR)/$(STATIC) $(HARDENED)
else
    RELEASE := -c release --disable-default-traits
endif
STRICT := -Xswiftc -warnings-as-errors
PROGRAM := .build/release/lodge
# On Linux, an installation has a small static program in front of the command. Static programs cannot load the libraries of the command.
ifdef STATIC
    LAUNCHER := .build/launcher/release/lodge-launcher
    INSTALLED := .build/installed
endif
SOURCES := $(wildcard Package.swift Sources Tests Examples Benchmarks)

.DEFAULT_GOAL := help
.PHONY: help deps build demo test lint format docs docs-serve record integration apple-check fuzz soak bench install install-files package uninstall clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

deps: ## Install missing system libraries (apt or brew)
	@.ci/dependencies

# The linker finds the library in this folder first. There is no shared library next to it, so it uses the static one.
$(STATIC)/libstdc++.a:
	@mkdir -p $(STATIC)
	@ln -sf "$$(clang++ -print-file-name=libstdc++.a)" $@

build: deps $(if $(STATIC),$(STATIC)/libstdc++.a) ## Build the command: .build/release/lodge
	@set -o pipefail; $(SWIFT) build $(RELEASE) $(SWIFTFLAGS) --product lodge 2>&1 | .ci/quiet-build
ifdef LAUNCHER
	@set -o pipefail; $(SWIFT) build $(RELEASE) $(SWIFTFLAGS) --scratch-path .build/launcher -Xswiftc -static-executable \
	    -Xswiftc -Xclang-linker -Xswiftc -static-pie --product lodge-launcher 2>&1 | .ci/quiet-build
	@# As in an installation.
	@mkdir -p $(INSTALLED)/bin $(INSTALLED)/libexec/lodge
	@install -m 755 $(LAUNCHER) $(INSTALLED)/bin/lodge
	@ln -sf "$(CURDIR)/$(PROGRAM)" $(INSTALLED)/libexec/lodge/lodge
endif

demo: build ## Build the command, then run the demo with a local provider
	@$(PROGRAM) demo

test: deps lint ## Check the code and run all tests (TEST_TIME_FACTOR, TEST_WIDTH)
	@SWIFT="$(SWIFT)" .ci/test $(STRICT) $(SWIFTFLAGS)

lint: deps ## Check layout, wording and dependencies of the code
	@$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)
	@.ci/check-prose
	@.ci/house.py --quiet --max-cycles $(CYCLES)

format: deps ## Format the code
	@$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

docs: deps ## Build one site with the documentation of all libraries and the command: .build/docs
	@.ci/documentation "$(OUTPUT)" $(STRICT) $(SWIFTFLAGS)

# Ctrl-C is the usual end and not an error.
docs-serve: docs ## Build the documentation and show it at http://127.0.0.1:8766 (PORT)
	@trap 'exit 0' INT; python3 -m http.server --bind 127.0.0.1 --directory "$(OUTPUT)" $(PORT)

record: build ## Record the terminal sessions that README.md shows
	@LODGE_RECORD=1 Tests/Integration/run "$(CURDIR)/$(PROGRAM)" recording

integration: build ## Check the command with real servers, a real browser and a real terminal
	@set -o pipefail; $(SWIFT) build $(RELEASE) $(SWIFTFLAGS) --product store-process 2>&1 | .ci/quiet-build
	@Tests/Integration/run "$(CURDIR)/$(PROGRAM)"
	@if [ "$$(uname -s)" = Linux ]; then SWIFT="$(SWIFT)" .ci/apple-check $(SWIFTFLAGS) && .ci/fuzz 60 && .ci/fuzz --scale; fi

apple-check: deps ## Compile and test the code for Apple platforms with stand-ins for Apple's frameworks; Linux
	@SWIFT="$(SWIFT)" .ci/apple-check $(SWIFTFLAGS)

fuzz: deps ## Pass mutated inputs to every parser of untrusted bytes (SECONDS, READERS); Linux
	@SWIFT="$(SWIFT)" .ci/fuzz $(SECONDS) $(READERS)

soak: deps $(if $(STATIC),$(STATIC)/libstdc++.a) ## Kill a process that writes to a store 2,000 times (KILLS, SEED), and check the store each time
	@set -o pipefail; $(SWIFT) build $(RELEASE) $(SWIFTFLAGS) --product store-process 2>&1 | .ci/quiet-build
	@place=$$(mktemp -d) && trap 'rm -rf "$$place"' EXIT && chmod 700 "$$place" \
		&& .build/release/store-process soak "$$place/store" $(KILLS) $(SEED)

# The Python packages for the measurements.
.build/python/bin/python: Benchmarks/Peers/requirements.txt
	@.ci/python-environment .build/python Benchmarks/Peers/requirements.txt >/dev/null

bench: build .build/python/bin/python ## Measure the command, and compare it with other programs
	@set -o pipefail; $(SWIFT) build $(RELEASE) $(SWIFTFLAGS) --product benchmarks 2>&1 | .ci/quiet-build
	@BENCHMARK_LODGE="$(CURDIR)/$(if $(LAUNCHER),$(INSTALLED)/bin/lodge,$(PROGRAM))" .build/release/benchmarks

SHARE = $(DESTDIR)$(PREFIX)/share
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd/user
COMPLETIONS = "$(SHARE)/bash-completion/completions/lodge" "$(SHARE)/zsh/site-functions/_lodge" \
    "$(SHARE)/fish/vendor_completions.d/lodge.fish"

# The folders of an installation below PREFIX, each after its parent folder.
FOLDERS = . bin $(if $(LAUNCHER),libexec libexec/lodge) lib lib/systemd lib/systemd/user share share/man share/man/man1 share/man/man5 share/man/man7 share/bash-completion share/bash-completion/completions share/zsh \
    share/zsh/site-functions share/fish share/fish/vendor_completions.d share/doc share/doc/lodge share/lodge
# The folders that an installation created, for `uninstall`.
CREATED = "$(SHARE)/lodge/created-folders"
DOCUMENTS = README.md CHANGELOG.md SECURITY.md LICENSE $(wildcard Examples/*/*)

install: build ## Install command, manual and completions under PREFIX (/usr/local)
	@created=$$(for folder in $(FOLDERS); do [ -d "$(DESTDIR)$(PREFIX)/$$folder" ] || echo "$$folder"; done); \
	    $(MAKE) --no-print-directory --silent install-files && if [ -n "$$created" ]; then echo "$$created" >>$(CREATED); fi
	@echo "Installed $(DESTDIR)$(PREFIX)/bin/lodge, its manual, completions, documents and example settings"

# Copies the files of `install` and `package` after the command is built.
install-files:
	@for folder in $(FOLDERS); do install -d "$(DESTDIR)$(PREFIX)/$$folder"; done
ifdef LAUNCHER
	@install -m 755 $(LAUNCHER) "$(DESTDIR)$(PREFIX)/bin/lodge"
	@install -m 755 $(PROGRAM) "$(DESTDIR)$(PREFIX)/libexec/lodge/lodge"
else
	@install -m 755 $(PROGRAM) "$(DESTDIR)$(PREFIX)/bin/lodge"
endif
	@$(PROGRAM) __manual "$(SHARE)/man/man1" $(SOURCE_DATE_EPOCH)
	@mv "$(SHARE)"/man/man1/*.5 "$(SHARE)/man/man5"
	@mv "$(SHARE)"/man/man1/*.7 "$(SHARE)/man/man7"
	@set -- $(COMPLETIONS); for shell in bash zsh fish; do $(PROGRAM) completion $$shell >"$$1"; shift; done
	@install -m 644 Settings/systemd/lodge-agent.socket "$(UNITS)"
	@sed 's|/usr/bin/lodge|$(PREFIX)/bin/lodge|' Settings/systemd/lodge-agent.service >"$(UNITS)/lodge-agent.service"
	@chmod 644 "$(UNITS)/lodge-agent.service"
	@install -d "$(SHARE)/lodge/Settings/providers"
	@install -m 644 $(wildcard Settings/*.json Settings/*.plist) "$(SHARE)/lodge/Settings"
	@install -m 644 $(wildcard Settings/providers/*) "$(SHARE)/lodge/Settings/providers"
	@ln -sfn ../../lodge/Settings "$(SHARE)/doc/lodge/Settings"
	@# Also the files that README.md links to.
	@for file in $(DOCUMENTS) $$(grep -oE '\]\([A-Za-z][^):]*\)' README.md | sed 's/^..//; s/.$$//'); do \
	    install -d "$$(dirname "$(SHARE)/doc/lodge/$$file")" && install -m 644 "$$file" "$(SHARE)/doc/lodge/$$file"; done

package: build ## Create a Debian package in .build/package
	@command -v dpkg-shlibdeps >/dev/null || .ci/dependencies dpkg-dev
	@.ci/debian-package "$(CURDIR)/$(PROGRAM)" .build/package
	@ls -l $(PROGRAM) | awk '{ printf "The command is %.1f MB.\n", $$5 / 1000000 }'

uninstall: ## Remove the installed files
	@created=$$(sed '1!G;h;$$!d' $(CREATED) 2>/dev/null || true); \
	rm -rf "$(DESTDIR)$(PREFIX)/bin/lodge" "$(DESTDIR)$(PREFIX)/libexec/lodge/lodge" "$(SHARE)/lodge" "$(SHARE)/doc/lodge" $(COMPLETIONS); \
	rm -f "$(SHARE)/man/man1/lodge.1" "$(SHARE)"/man/man1/lodge-*.1 "$(SHARE)/man/man5/lodge-settings.5" \
	    "$(SHARE)"/man/man7/lodge-*.7 "$(UNITS)"/lodge-agent.*; \
	for folder in $$created; do path="$(DESTDIR)$(PREFIX)/$$folder"; rmdir "$${path%/.}" 2>/dev/null || true; done

clean: ## Remove the build folder
	@rm -rf .build
