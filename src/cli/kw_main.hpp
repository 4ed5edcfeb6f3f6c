// SPDX-License-Identifier: Apache-2.0
// The one symbol of libkw_cli.so that other process images call, by name: the whole of `kw` as a
// function, in a process that may have registered implementations of its own.
#pragma once

// `argv[0]` is the program, which nothing reads; writes to standard output and standard error and
// returns the exit code of `kw`. Ends nothing, throws nothing. One call at a time: the log sink of
// the process is the call's while it runs.
extern "C" int kw_main(int argc, const char* const* argv) noexcept;
