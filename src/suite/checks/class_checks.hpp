// SPDX-License-Identifier: Apache-2.0
// What a contract promises beyond the values of one call, checked on one case per specialization
// class: fresh inputs, streams, graphs, threads, memory, placement, rows, devices, wrong arguments.
// Every check has a name and the reason codes it may give; docs/numerics.md lists them.
#pragma once

#include <memory>
#include <vector>

#include "kernelwright/suite/checks/call_set.hpp"
#include "kernelwright/suite/validate.hpp"

namespace kw::suite {

// One case that passed, and what its checks need. The callable has the problem prepared.
class ClassChecks {
 public:
  ClassChecks(const Case& spec, Callable& callable, const Platform& platform,
              const ValidateOptions& options, CheckList& checks);

  // All checks, up to the first that fails.
  void run();

 private:
  struct Entry {
    const char* name;
    bool asynchronous;  // needs streams
    void (ClassChecks::*run)();
  };
  static const std::vector<Entry>& table();

  // checks/fresh.cpp: other inputs in the same memory; hundreds of calls.
  void fresh();
  void soak();
  // checks/streams.cpp
  void stream();
  void lifetime();
  void busy_default_stream();
  void late_producers();
  // checks/graphs.cpp
  void capture();
  void graph_of_many();
  void interleaved_graphs();
  void lazy_state();
  // checks/threads.cpp
  void threads();
  // checks/placement.cpp: where tensors lie, and where rows lie among others.
  void placement();
  void rows();
  // checks/devices.cpp
  void second_device();
  // checks/arguments.cpp
  void wrong_arguments();
  // checks/decisions.cpp: the pure functions.
  void decisions();
  // checks/oracle.cpp: what all of it rests on.
  void oracle();

  // Sets with the inputs of seed, seed + kFreshSeed, ...; made when first asked for.
  CallSet& set(std::size_t i);
  Case fresh_case(std::size_t i) const;
  // What an undisturbed call makes of set i.
  const Outputs& expected(std::size_t i);
  // Waits until late work, on whatever stream, is done.
  void settle();
  // What the oracle says against outputs of set i.
  std::optional<std::string> wrong_values(std::size_t i, const Outputs& outputs);
  // Whether `outputs` of set i are right: bitwise where deterministic, else by the oracle.
  bool right(std::size_t i, const Outputs& outputs);
  // An eager call on the null stream, awaited. Throws when it fails.
  Outputs call(std::size_t i);

  void pass(const char* name) { checks_.pass(name); }
  void reject(const char* name, Reason reason, std::string message) {
    checks_.reject(name, reason, std::move(message));
  }

  const Case& spec_;
  const Problem& problem_;
  Callable& callable_;
  const Platform& platform_;
  runtime::Device& device_;
  const ValidateOptions& options_;
  CheckList& checks_;
  std::vector<std::unique_ptr<CallSet>> sets_;
  std::vector<Outputs> expected_;
};

// Bytes of device memory that they may take in all; larger cases leave their class to another one.
inline constexpr double kClassCheckBytes = 512e6;
double class_check_bytes(const Problem& problem);

}  // namespace kw::suite
