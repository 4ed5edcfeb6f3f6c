// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/app.hpp"

#include <algorithm>
#include <new>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/operation_page.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::cli {
namespace {

std::vector<Command> all_commands() {
  return {list_command(),    explain_command(),    numerics_command(), bench_command(),
          compare_command(), replay_command(),     evidence_command(), report_command(),
          tune_command(),    precompile_command(), cache_command(),    doctor_command(),
          demo_command()};
}

// Log lines of the library go to standard error at the level of KW_LOG.
void install_log_sink(const Console& console) {
  const auto level = environment().log_level;
  if (!level) return;
  set_log_sink(
      [&console](LogLevel line_level, std::string_view category, std::string_view text) {
        const bool severe = line_level >= LogLevel::kWarning;
        console.err << styled(fmt::format("{}:", log_level_name(line_level)),
                              severe ? Style::kWarning : Style::kFaint, console.err_colour)
                    << ' ' << category << ": " << text << '\n';
      },
      *level);
}

// The sink refers to a console that ends with run().
struct RemoveLogSink {
  ~RemoveLogSink() { set_log_sink(nullptr); }
};

class Program {
 public:
  Program() : app_("kernelwright: compute kernels of large language models", "kw") {
    app_.set_version_flag("--version", "kw " KW_VERSION);
    app_.allow_extras();
    app_.require_subcommand(0, 1);  // a second command name is a word
    app_.get_formatter()->column_width(34);
    for (const Command& command : commands_) {
      CLI::App* parser = app_.add_subcommand(command.name, command.summary);
      add_flags(*parser, flags_, command.flags);
      if (!command.words.empty()) {
        parser->add_option("words", flags_.words)->option_text(command.words)->expected(-1);
      }
      parser->allow_extras();
      parsers_.push_back(parser);
    }
  }

  ExitCode run(std::vector<std::string> arguments, Console& console) {
    const bool nothing_asked = arguments.empty();
    flags_.argv = arguments;
    flags_.argv.insert(flags_.argv.begin(), "kw");
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForVersion&) {
      console.out << app_.version() << '\n';
      return ExitCode::kPassed;
    } catch (const CLI::CallForHelp&) {
      console.out << trim(app_.help()) << '\n';
      return ExitCode::kPassed;
    } catch (const CLI::ParseError& error) {
      fail(Code::kInvalidArgument, "{}; `kw{} --help` lists what is accepted", error.what(),
           command() == nullptr ? "" : " " + command()->name);
    }
    if (nothing_asked) {
      console.err << trim(app_.help()) << '\n';
      return ExitCode::kUsage;
    }
    refuse_extras();
    if (flags_.help) {
      const std::string operation = operation_in_question();
      const std::string page = operation.empty() ? "" : '\n' + operation_page(operation, console);
      console.out << trim(parser()->help("kw")) << '\n' << page;
      return ExitCode::kPassed;
    }
    const RemoveLogSink remove;
    if (command()->reads_environment) install_log_sink(console);
    return command()->run(flags_, console);
  }

 private:
  const CLI::App* parser() const {
    const auto parsed = std::find_if(parsers_.begin(), parsers_.end(),
                                     [](const CLI::App* app) { return app->parsed(); });
    return parsed == parsers_.end() ? nullptr : *parsed;
  }

  const Command* command() const {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (parsers_[i]->parsed()) return &commands_[i];
    }
    return nullptr;
  }

  // Named, or implied by an exact implementation.
  std::string operation_in_question() const {
    if (!flags_.operation.empty() || flags_.implementation.empty()) return flags_.operation;
    const Operation* owner = builtin_catalog().find_implementation(flags_.implementation).first;
    return owner == nullptr ? "" : owner->contract->operation;
  }

  // CLI11 would list all words that it could not place; the first one is the mistake.
  void refuse_extras() const {
    if (command() == nullptr) {
      std::vector<std::string> names;
      for (const Command& known : commands_) names.push_back(known.name);
      const std::vector<std::string> extras = app_.remaining();
      fail_text(Code::kNotFound, extras.empty()
                                     ? "no command was given; known: " + join(names)
                                     : unknown_name_message("command", extras.front(), names));
    }
    const std::vector<std::string> before = app_.remaining(false);
    if (!before.empty()) {
      fail(Code::kInvalidArgument, "'{}' stands before the command; flags follow it: kw {} {} ...",
           before.front(), command()->name, before.front());
    }
    const std::vector<std::string> extras = parser()->remaining();
    if (extras.empty()) return;
    const auto dash = std::find_if(extras.begin(), extras.end(), [](const std::string& word) {
      return word.size() > 1 && word.front() == '-';
    });
    if (dash == extras.end()) {
      fail(Code::kInvalidArgument,
           "kw {} takes no word '{}'; `kw {} --help` lists what is accepted", command()->name,
           extras.front(), command()->name);
    }
    fail_text(Code::kNotFound, "kw " + command()->name + ": " +
                                   unknown_name_message("flag", dash->substr(0, dash->find('=')),
                                                        flag_names(command()->flags)));
  }

  Flags flags_;
  std::vector<Command> commands_ = all_commands();
  CLI::App app_;
  std::vector<CLI::App*> parsers_;  // one per command
};

ExitCode run_and_flush(std::vector<std::string> arguments, Console& console) {
  const ExitCode code = Program().run(std::move(arguments), console);
  console.out.flush();
  if (!console.out) {
    fail(Code::kEnvironment, "standard output cannot be written; is its disk full?");
  }
  return code;
}

}  // namespace

ExitCode run(std::vector<std::string> arguments, Console& console) noexcept {
  try {
    return run_and_flush(std::move(arguments), console);
  } catch (const Error& error) {
    console.error(error.what());
    return exit_code(error.code());
  } catch (const std::bad_alloc&) {
    console.error("out of memory; ask for fewer or smaller problems");
    return ExitCode::kEnvironment;
  } catch (const std::exception& error) {
    console.error(
        fmt::format("a defect of kw: {}; please report it with the command line", error.what()));
    return ExitCode::kInternal;
  }
}

}  // namespace kw::cli
