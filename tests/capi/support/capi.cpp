// SPDX-License-Identifier: Apache-2.0
#include "capi/support/capi.hpp"

namespace kw::test {

Json taken(char* text) {
  if (text == nullptr) return nullptr;
  Json json = Json::parse(text);
  kw_free(text);
  return json;
}

Json control(const Json& request) {
  char* reply = nullptr;
  EXPECT_EQ(kw_control(request.dump().c_str(), &reply), KW_OK) << kw_last_error();
  return taken(reply);
}

void expect_failure(int code, int expected, std::initializer_list<std::string_view> words) {
  const std::string text = kw_last_error();
  EXPECT_EQ(code, expected) << text;
  for (const std::string_view word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }
}

void expect_refusal(const std::string& request, int expected,
                    std::initializer_list<std::string_view> words) {
  char untouched = 0;
  char* reply = &untouched;
  expect_failure(kw_control(request.c_str(), &reply), expected, words);
  EXPECT_EQ(reply, nullptr);
}

Call& Call::tensor(void* data, int dtype, std::vector<std::int64_t> sizes,
                   std::vector<std::int64_t> strides) {
  const auto& kept = shapes_.emplace_back(std::move(sizes));
  kw_tensor view = Call::view(data, dtype, kept);
  if (!strides.empty()) view.strides = shapes_.emplace_back(std::move(strides)).data();
  tensors.push_back(view);
  return *this;
}

Call& Call::absent() {
  kw_tensor view{};
  view.rank = KW_ABSENT;
  tensors.push_back(view);
  return *this;
}

Call& Call::list(std::vector<kw_tensor> elements) {
  const auto& kept = lists_.emplace_back(std::move(elements));
  kw_tensor view{};
  view.rank = KW_LIST;
  view.list = kept.data();
  view.list_size = static_cast<std::int64_t>(kept.size());
  tensors.push_back(view);
  return *this;
}

Call& Call::scalar(kw_scalar value) {
  scalars.push_back(value);
  return *this;
}

Call& Call::defaults(int count) {
  scalars.resize(scalars.size() + static_cast<std::size_t>(count), kw_scalar{});
  return *this;
}

kw_tensor Call::view(void* data, int dtype, const std::vector<std::int64_t>& sizes) {
  kw_tensor view{};
  view.data = data;
  view.dtype = dtype;
  view.rank = static_cast<int>(sizes.size());
  view.sizes = sizes.data();
  return view;
}

int Call::launch(kw_binding* binding, void* workspace, std::int64_t bytes, void* stream) const {
  const kw_arguments all = get();
  return kw_call(binding, all.tensors, all.num_tensors, all.scalars, all.num_scalars, workspace,
                 bytes, stream);
}

int Call::launch(kw_plan* plan, void* workspace, std::int64_t bytes, void* stream) const {
  const kw_arguments all = get();
  return kw_plan_launch(plan, all.tensors, all.num_tensors, all.scalars, all.num_scalars, workspace,
                        bytes, stream);
}

}  // namespace kw::test
