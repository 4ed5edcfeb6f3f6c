// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/settings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/support/toy_catalog.hpp"

namespace kw {
namespace {

using toy::error_of;
using toy::has;
using Names = std::vector<std::string>;

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() { toy::fill(catalog); }

  static std::string yaml(const std::string& fields) {
    return "train: {steps: 10}\nmodel:\n  path: here\n  ops_implementation:\n" + fields;
  }
  void load(const std::string& fields) { settings.load_yaml(catalog, yaml(fields), "run.yaml"); }
  std::string load_error(const std::string& text) {
    const std::string before = settings.text();
    const std::string error = error_of([&] { settings.load_yaml(catalog, text, "run.yaml"); });
    EXPECT_EQ(settings.text(), before);
    EXPECT_TRUE(settings.file_fields().empty() && settings.warnings().empty());
    return error;
  }
  std::string field_error(const std::string& fields) { return load_error(yaml(fields)); }
  void set(std::string_view what, Names targets) {
    settings.set(catalog, what, std::move(targets), Source::kExplicit, "--implementation");
  }
  std::string chosen(std::string_view operation, std::string_view variant = {}) const {
    return settings.effective(operation, variant).text();
  }
  std::string chosen_on(DeviceKind kind, std::string_view operation = "stretch",
                        std::string_view variant = {}) const {
    return settings.on_device(catalog, kind).effective(operation, variant).text();
  }
  std::string device_error(DeviceKind kind) const {
    return error_of([&] { settings.on_device(catalog, kind); });
  }

  Catalog catalog;
  Settings settings;
};

TEST_F(SettingsTest, NothingGivenIsAuto) {
  EXPECT_TRUE(settings.effective("stretch").is_auto());
  ASSERT_EQ(settings.history("stretch", "mirror").size(), 1U);
  EXPECT_EQ(settings.history("stretch")[0].origin, "default");
  EXPECT_EQ(settings.text(), "mode=eager prepare_on_miss=true");
}

TEST_F(SettingsTest, EnvironmentBeatsExplicitBeatsFileBeatsDefault) {
  // Given in the order that would be wrong if the last one won.
  settings.apply_environment(catalog, {{"stretch", "reference"}});
  set("stretch", {"cpu.native.stretch"});
  load("    elastic_implementation: jit\n");
  EXPECT_EQ(chosen("stretch"), "reference");
  const std::vector<Choice> history = settings.history("stretch");
  ASSERT_EQ(history.size(), 4U);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"auto", "default"},
      {"jit", "run.yaml:5: model.ops_implementation.elastic_implementation"},
      {"cpu.native.stretch", "--implementation"},
      {"reference", "KW_OVERRIDE_STRETCH"}};
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i].text(), expected[i].first);
    EXPECT_EQ(history[i].origin, expected[i].second);
    EXPECT_EQ(history[i].source, static_cast<Source>(i));
  }
  EXPECT_EQ(settings.history("stretch", "plain").size(), 4U);
  EXPECT_TRUE(settings.effective("fold").is_auto());
}

TEST_F(SettingsTest, SourceNamesAreWords) {
  EXPECT_EQ(source_name(Source::kDefault), "default");
  EXPECT_EQ(source_name(Source::kFile), "file");
  EXPECT_EQ(source_name(Source::kExplicit), "explicit");
  EXPECT_EQ(source_name(Source::kEnvironment), "environment");
}

TEST_F(SettingsTest, ListsKeepTheirOrder) {
  load(
      "    elastic_implementation: [reference, fused_native]\n    fold_implementation:\n      - "
      "native\n");
  EXPECT_EQ(settings.effective("stretch").targets, (Names{"reference", "native"}));
  EXPECT_EQ(chosen("stretch"), "[reference, native]");
  EXPECT_EQ(chosen("fold"), "native");
  settings.apply_environment(catalog, {{"stretch", " [native , cpu.reference.stretch] "}});
  EXPECT_EQ(chosen("stretch"), "[native, cpu.reference.stretch]");
  settings.apply_environment(catalog, {{"stretch", "jit,native"}});
  EXPECT_EQ(chosen("stretch"), "[jit, native]");
}

TEST_F(SettingsTest, ListsAreLists) {
  const auto error = [&](Names targets) { return error_of([&] { set("stretch", targets); }); };
  EXPECT_TRUE(has(error({}), "--implementation: no implementation of 'stretch' is named"));
  EXPECT_TRUE(has(error({"native", "auto"}), "'auto' stands alone"));
  EXPECT_TRUE(has(error({"eager", "native"}), "'eager' stands alone"));
  EXPECT_TRUE(has(error({"native", "fused_native"}), "names 'native' twice"));
  EXPECT_TRUE(settings.effective("stretch").is_auto());
}

TEST_F(SettingsTest, PrefixIsOptionalAndAliasesAreTheSameField) {
  load("    stretch_implementation: fused_native\n");
  EXPECT_EQ(chosen("stretch"), "native");
  EXPECT_TRUE(settings.warnings().empty());
  ASSERT_EQ(settings.file_fields().size(), 1U);
  EXPECT_EQ(settings.file_fields()[0].first, "elastic_implementation");
  EXPECT_EQ(settings.file_fields()[0].second, "stretch");
}

TEST_F(SettingsTest, AliasBesideItsFieldIsARepetition) {
  EXPECT_TRUE(
      has(field_error("    elastic_implementation: auto\n    stretch_implementation: auto\n"),
          "run.yaml:6: 'stretch_implementation' and 'elastic_implementation' (line 5) are the same "
          "field"));
}

TEST_F(SettingsTest, DeprecatedValueOfAContractWarnsOnce) {
  load("    elastic_implementation: rubber\n");
  EXPECT_EQ(chosen("stretch"), "native");
  ASSERT_EQ(settings.warnings().size(), 1U);
  EXPECT_TRUE(has(settings.warnings()[0],
                  "run.yaml:5: model.ops_implementation.elastic_implementation: "
                  "value 'rubber' of 'stretch' is deprecated; write 'native'"));
  load("    elastic_implementation: rubber\n");
  EXPECT_EQ(settings.warnings().size(), 1U);
}

TEST_F(SettingsTest, LaterFileReplacesFieldByField) {
  load("    elastic_implementation: native\n    fold_implementation: native\n");
  load("    elastic_implementation: reference\n");
  EXPECT_EQ(chosen("stretch"), "reference");
  EXPECT_EQ(chosen("fold"), "native");
  EXPECT_EQ(settings.file_fields().size(), 2U);
}

TEST_F(SettingsTest, OperationFieldDoesNotReachAVariantWithItsOwn) {
  load("    elastic_implementation: native\n");
  EXPECT_EQ(chosen("stretch", "plain"), "native");
  EXPECT_EQ(chosen("stretch", "mirror"), "auto");
  load("    elastic_mirror_implementation: eager\n");
  EXPECT_EQ(chosen("stretch", "plain"), "native");
  EXPECT_EQ(chosen("stretch", "mirror"), "eager");
  EXPECT_EQ(settings.file_fields()[1].second, "stretch/mirror");
  EXPECT_EQ(
      settings.text(),
      "mode=eager prepare_on_miss=true"
      " stretch=native (run.yaml:5: model.ops_implementation.elastic_implementation)"
      " stretch/mirror=eager (run.yaml:5: model.ops_implementation.elastic_mirror_implementation)");
}

TEST_F(SettingsTest, OverridesReachEveryVariantUnlessTheyNameOne) {
  load("    elastic_mirror_implementation: eager\n");
  settings.apply_environment(catalog, {{"stretch", "reference"}});
  EXPECT_EQ(chosen("stretch", "mirror"), "reference");
  Settings other;
  other.set(catalog, "stretch/mirror", {"native"}, Source::kExplicit, "call");
  EXPECT_EQ(other.effective("stretch", "mirror").text(), "native");
  EXPECT_TRUE(other.effective("stretch", "plain").is_auto());
  EXPECT_TRUE(other.effective("stretch").is_auto());
  EXPECT_TRUE(has(error_of([&] { set("stretch/miror", {"native"}); }),
                  "stretch: unknown variant 'miror'; did you mean 'mirror'? known: plain, mirror"));
}

TEST_F(SettingsTest, UnknownNamesShowTheNearest) {
  EXPECT_TRUE(has(
      field_error("    fold_implementation: auto\n    elastic_implementatoin: native\n"),
      "not_found: run.yaml:6: unknown field of model.ops_implementation 'elastic_implementatoin'; "
      "did you mean 'elastic_implementation'? known: elastic_implementation, "
      "elastic_mirror_implementation, fold_implementation, twist_implementation"));
  EXPECT_TRUE(has(field_error("    fold: native\n"),
                  "the field of operation 'fold' is 'fold_implementation'"));
  EXPECT_TRUE(
      has(field_error("    preset: fast\n"), "unknown field of model.ops_implementation 'preset'"));
  EXPECT_TRUE(has(field_error("    elastic_implementation: nativ\n"),
                  "run.yaml:5: model.ops_implementation.elastic_implementation: stretch: unknown "
                  "implementation 'nativ'; did you mean 'native'? known: auto, eager, native, "
                  "cpu.native.stretch, jit, cuda.jit.stretch, reference, cpu.reference.stretch, "
                  "fused_spring, fused_coil, fused"));
  EXPECT_TRUE(has(error_of([&] { set("strech", {"native"}); }),
                  "--implementation: unknown operation 'strech'; did you mean 'stretch'? known: "
                  "stretch, fold"));
  EXPECT_TRUE(has(
      error_of([&] { set("fold", {"cpu.native.stretch"}); }),
      "unknown implementation 'cpu.native.stretch'; known: auto, eager, native, cpu.native.fold"));
  EXPECT_TRUE(has(error_of([&] {
                    settings.apply_environment(catalog, {{"strech", "native"}});
                  }),
                  "unknown override 'KW_OVERRIDE_STRECH'; did you mean 'KW_OVERRIDE_STRETCH'?"));
  EXPECT_TRUE(has(error_of([&] {
                    settings.apply_environment(catalog, {{"fold", "nativ"}});
                  }),
                  "KW_OVERRIDE_FOLD: fold: unknown implementation 'nativ'"));
}

TEST_F(SettingsTest, FieldOfOneVariantAdmitsItsOwnKnownValues) {
  EXPECT_TRUE(
      has(field_error("    elastic_implementation: glass\n"), "unknown implementation 'glass'"));
  EXPECT_TRUE(has(field_error("    elastic_mirror_implementation: fused_coil\n"),
                  "unknown implementation 'fused_coil'"));
  load("    elastic_mirror_implementation: glass\n");
  EXPECT_TRUE(
      has(device_error(DeviceKind::kCpu), "'glass' needs plugin glass, which is not loaded"));
}

TEST_F(SettingsTest, OneErrorChangesNothing) {
  set("fold", {"native"});
  const std::string before = settings.text();
  const std::string error = error_of(
      [&] { load("    elastic_implementation: rubber\n    fold_implementation: nope\n"); });
  EXPECT_TRUE(has(error, "run.yaml:6"));
  EXPECT_THROW(settings.apply_environment(catalog, {{"fold", "eager"}, {"stretch", "nope"}}),
               Error);
  EXPECT_EQ(settings.text(), before);
  EXPECT_TRUE(settings.warnings().empty() && settings.file_fields().empty());
}

TEST_F(SettingsTest, OperationOutsideThisBuild) {
  load("    twist_implementation: auto\n");
  load("    twist_implementation: eager\n");
  ASSERT_EQ(settings.file_fields().size(), 1U);
  EXPECT_EQ(settings.file_fields()[0].second, "twist");
  Settings other;
  EXPECT_TRUE(
      has(error_of([&] {
            other.load_yaml(catalog, yaml("    twist_implementation: spring\n"), "run.yaml");
          }),
          "run.yaml:5: model.ops_implementation.twist_implementation: 'spring' was asked for, but "
          "operation 'twist' is not in this build; write auto or eager, or leave it out"));
  EXPECT_TRUE(
      has(error_of([&] {
            settings.apply_environment(catalog, {{"twist", "native"}});
          }),
          "KW_OVERRIDE_TWIST: 'native' was asked for, but operation 'twist' is not in this build"));
  settings.apply_environment(catalog, {{"twist", "auto"}});
}

TEST_F(SettingsTest, MalformedFiles) {
  const std::string expected = "a configuration is written as\n  model:\n    ops_implementation:";
  EXPECT_TRUE(
      has(load_error(""), "run.yaml: the file is empty, not a map with 'model'; " + expected));
  EXPECT_TRUE(has(load_error("- a\n- b\n"), "the file is a list, not a map with 'model'"));
  EXPECT_TRUE(has(load_error("train: 1\n"), "the file has no 'model'; " + expected));
  EXPECT_TRUE(has(load_error("model:\n"), "model is empty, not a map with 'ops_implementation'"));
  EXPECT_TRUE(
      has(load_error("model: {path: x}\n"), "model has no 'ops_implementation'; " + expected));
  EXPECT_TRUE(has(load_error("model: {ops_implementation: native}\n"),
                  "model.ops_implementation is a single value, not a map of fields"));
  EXPECT_TRUE(
      has(load_error("model: {ops_implementation: [a]}\n"), "model.ops_implementation is a list"));
  EXPECT_TRUE(has(load_error("model:\n  a: [1, 2\n"), "run.yaml:3: not YAML: "));
  EXPECT_TRUE(has(load_error("model: {}\n---\nmodel: {}\n"), "a second YAML document"));
  EXPECT_TRUE(has(load_error("model: {ops_implementation: {}}\nmodel: {}\n"),
                  "run.yaml:2: 'model' appears a second time (first in line 1)"));
}

TEST_F(SettingsTest, MalformedFields) {
  EXPECT_TRUE(
      has(field_error("    fold_implementation: native\n    elastic_implementation: auto\n"
                      "    fold_implementation: auto\n"),
          "run.yaml:7: field 'fold_implementation' appears a second time (first in line 5)"));
  EXPECT_TRUE(has(field_error("    fold_implementation:\n"),
                  "run.yaml:5: the value of field 'fold_implementation' is empty"));
  EXPECT_TRUE(has(field_error("    fold_implementation: ''\n"), "is empty; expected a string"));
  EXPECT_TRUE(has(field_error("    fold_implementation: {native: true}\n"),
                  "the value of field 'fold_implementation' is a map; expected a string"));
  EXPECT_TRUE(has(field_error("    fold_implementation: [native, [x]]\n"),
                  "an entry of the list of field 'fold_implementation' is a list"));
  EXPECT_TRUE(has(field_error("    fold_implementation: []\n"),
                  "run.yaml:5: the list of field 'fold_implementation' is empty"));
  EXPECT_TRUE(has(field_error("    ? [a, b]\n    : native\n"),
                  "run.yaml:5: a field name must be a string, this is a list"));
  EXPECT_TRUE(has(field_error("    fold_implementation: 3\n"), "unknown implementation '3'"));
}

TEST_F(SettingsTest, AFileMayRequireEvidence) {
  EXPECT_FALSE(settings.require_evidence);
  EXPECT_EQ(settings.require_evidence_origin, "default");
  load("    fold_implementation: native\n");
  EXPECT_EQ(settings.text().find("require_evidence"), std::string::npos) << settings.text();
  settings.load_yaml(catalog, "model:\n  require_evidence: true\n  ops_implementation: {}\n",
                     "run.yaml");
  EXPECT_TRUE(settings.require_evidence);
  EXPECT_EQ(settings.require_evidence_origin, "run.yaml:2: model.require_evidence");
  EXPECT_NE(settings.text().find("require_evidence=true"), std::string::npos) << settings.text();
  load("    fold_implementation: native\n");  // a second file that does not speak of it
  EXPECT_TRUE(settings.require_evidence);
  settings.load_yaml(catalog, "model: {ops_implementation: {}, require_evidence: false}", "b.yaml");
  EXPECT_FALSE(settings.require_evidence);
}

TEST_F(SettingsTest, RequireEvidenceIsTrueOrFalse) {
  const auto error = [&](const std::string& value) {
    return load_error("model:\n  ops_implementation: {}\n  require_evidence: " + value + "\n");
  };
  EXPECT_TRUE(
      has(error("maybe"), "run.yaml:3: model.require_evidence is 'maybe'; write true or false"));
  EXPECT_TRUE(has(error("[true]"), "model.require_evidence is a list; write true or false"));
  EXPECT_TRUE(has(error("1"), "is '1'; write true or false"));
  EXPECT_TRUE(has(error(""), "run.yaml:3: model.require_evidence is"));
  EXPECT_TRUE(has(error("true\n  require_evidence: true"),
                  "run.yaml:4: 'require_evidence' appears a second time (first in line 3)"));
}

TEST_F(SettingsTest, AnEmptySectionChoosesNothing) {
  settings.load_yaml(catalog, "model: {ops_implementation: {}}\n", "run.yaml");
  EXPECT_TRUE(settings.effective("stretch").is_auto());
}

TEST_F(SettingsTest, FilesAreReadAndNamed) {
  const auto path = std::filesystem::temp_directory_path() / "kw_settings_test.yaml";
  std::ofstream(path) << yaml("    fold_implementation: native\n");
  settings.load_file(catalog, path.string());
  EXPECT_EQ(settings.effective("fold").origin,
            path.string() + ":5: model.ops_implementation.fold_implementation");
  std::filesystem::remove(path);
  EXPECT_TRUE(has(error_of([&] { settings.load_file(catalog, path.string()); }),
                  "cannot read the configuration file '" + path.string() + "'"));
  EXPECT_TRUE(has(error_of([&] { settings.load_file(catalog, "/"); }),
                  "cannot read the configuration file '/'"));
}

TEST_F(SettingsTest, KnownValueNeedsItsPluginWhicheverSourceNamesIt) {
  set("stretch", {"fused_spring"});
  EXPECT_EQ(
      device_error(DeviceKind::kCuda),
      "unsupported: --implementation: stretch: 'fused_spring' needs plugin spring, which is not "
      "loaded; this build has on cuda: auto, eager, jit");
  EXPECT_TRUE(
      has(device_error(DeviceKind::kNpu),
          "'fused_spring' is not on this device (npu): it runs on cuda and needs plugin spring"));
  settings.apply_environment(catalog, {{"stretch", "coil"}});
  EXPECT_TRUE(has(
      device_error(DeviceKind::kCpu),
      "KW_OVERRIDE_STRETCH: stretch: 'fused_coil' is not on this device (cpu): it runs on npu"));
  Settings file;
  file.load_yaml(catalog, yaml("    elastic_implementation: fused_spring\n"), "run.yaml");
  EXPECT_TRUE(has(error_of([&] { file.on_device(catalog, DeviceKind::kCuda); }),
                  "run.yaml:5: model.ops_implementation.elastic_implementation: stretch: "
                  "'fused_spring' needs plugin spring"));
}

TEST_F(SettingsTest, OnlyTheChoiceInEffectMustBeMet) {
  load("    elastic_implementation: fused_coil\n");
  settings.apply_environment(catalog, {{"stretch", "native"}});
  EXPECT_EQ(chosen_on(DeviceKind::kCpu), "native");
}

TEST_F(SettingsTest, FileValueOfAnotherDevicesDefaultIsNormalised) {
  load("    elastic_implementation: fused_spring\n");
  // Its meaning here is not loaded either, and a default never fails for want of a third party.
  EXPECT_EQ(chosen_on(DeviceKind::kNpu), "auto");
  EXPECT_EQ(chosen_on(DeviceKind::kCpu), "auto");
  const Settings npu = settings.on_device(catalog, DeviceKind::kNpu);
  ASSERT_EQ(npu.warnings().size(), 1U);
  EXPECT_TRUE(
      has(npu.warnings()[0],
          "value 'fused_spring' is a default of other devices and means 'fused_coil' on npu; "
          "'fused_coil' needs plugin coil, which is not loaded: auto"));
  EXPECT_TRUE(has(npu.effective("stretch").origin, "('fused_spring' on npu)"));
  EXPECT_EQ(npu.on_device(catalog, DeviceKind::kNpu).text(), npu.text());
  EXPECT_EQ(chosen("stretch"), "spring");

  catalog.register_implementation("stretch", toy::entry(DeviceKind::kNpu, "coil", "stretch"));
  EXPECT_EQ(chosen_on(DeviceKind::kNpu), "coil");
  catalog.register_implementation("stretch", toy::entry(DeviceKind::kCuda, "spring", "stretch"));
  EXPECT_EQ(chosen_on(DeviceKind::kNpu), "coil");
  EXPECT_EQ(chosen_on(DeviceKind::kCuda), "spring");
}

TEST_F(SettingsTest, DeprecatedKnownValueIsPerDeviceForEverySource) {
  set("stretch", {"fused"});
  EXPECT_EQ(chosen_on(DeviceKind::kCpu), "native");
  const Settings cpu = settings.on_device(catalog, DeviceKind::kCpu);
  ASSERT_EQ(cpu.warnings().size(), 1U);
  EXPECT_EQ(cpu.warnings()[0],
            "--implementation: value 'fused' is deprecated and means 'fused_native' on cpu");
  EXPECT_TRUE(
      has(device_error(DeviceKind::kCuda),
          "--implementation ('fused' on cuda): stretch: 'fused_spring' needs plugin spring"));
}

TEST_F(SettingsTest, ListFallsBackBecauseItAsksForIt) {
  set("stretch", {"fused_spring", "native"});
  EXPECT_EQ(chosen_on(DeviceKind::kCpu), "native");
  const Settings cpu = settings.on_device(catalog, DeviceKind::kCpu);
  ASSERT_EQ(cpu.warnings().size(), 1U);
  EXPECT_TRUE(has(cpu.warnings()[0], "the rest of the list is used"));
  set("stretch", {"fused_spring", "coil"});
  const std::string error = device_error(DeviceKind::kCpu);
  EXPECT_TRUE(has(error, "'fused_spring' is not on this device"));
  EXPECT_TRUE(has(error, "'fused_coil' is not on this device"));
}

TEST_F(SettingsTest, ExcludedImplementationSaysWhy) {
  catalog.exclude({"fold", "cpu.vendor.fold", "libvendor.so.3 is missing"});
  set("fold", {"vendor"});
  EXPECT_TRUE(
      has(device_error(DeviceKind::kCpu),
          "--implementation: fold: 'cpu.vendor.fold' is excluded: libvendor.so.3 is missing; this "
          "build has on cpu: auto, eager, native"));
}

TEST_F(SettingsTest, EntriesOfOtherDevicesAreLeftToResolve) {
  load("    elastic_implementation: jit\n");
  EXPECT_EQ(chosen_on(DeviceKind::kCpu), "jit");
}

TEST_F(SettingsTest, SameEffectLooksThroughOrigins) {
  Settings other;
  EXPECT_TRUE(settings.same_effect(other));
  load("    fold_implementation: native\n");
  EXPECT_FALSE(settings.same_effect(other));
  EXPECT_FALSE(other.same_effect(settings));
  other.set(catalog, "fold", {"native"}, Source::kExplicit, "call");
  EXPECT_TRUE(settings.same_effect(other));
  other.prepare_on_miss = false;
  EXPECT_FALSE(settings.same_effect(other));
  other = settings;
  other.require_evidence = true;
  EXPECT_FALSE(settings.same_effect(other));
  other = settings;
  other.mode = Mode::kGraph;
  EXPECT_FALSE(settings.same_effect(other));
  other = settings;
  other.set(catalog, "stretch/mirror", {"native"}, Source::kExplicit, "call");
  EXPECT_FALSE(settings.same_effect(other));
}

}  // namespace
}  // namespace kw
