# The two commands: `make run` and `make test`. Each installs what is missing, builds, and does its job.
# The rest is for people who work on hunch.

BUILD ?= build/release
JOBS ?= $(shell nproc)

.PHONY: run test build setup asan tsan tidy format bench clean help

run: build
	$(BUILD)/hunch/cli/hunch run

test: build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

build: setup
	cmake --preset release -B $(BUILD) $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

setup:
	tools/setup.sh

asan tsan: setup
	cmake --preset $@
	cmake --build build/$@ -j $(JOBS)
	ctest --preset $@ -j $(JOBS)

tidy:
	cmake --preset tidy
	cmake --build build/tidy -j $(JOBS)

format:
	git ls-files '*.cc' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

bench: setup
	cmake --preset release -B build/bench -DHUNCH_BENCH=ON -DHUNCH_TESTS=OFF
	cmake --build build/bench -j $(JOBS)

clean:
	rm -rf build

help:
	@echo 'make run    install what is missing, build, run every attention variant here'
	@echo 'make test   install what is missing, build, run all tests'
	@echo 'make asan | tsan | tidy | format | bench | clean'
