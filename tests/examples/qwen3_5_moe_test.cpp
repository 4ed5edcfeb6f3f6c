// SPDX-License-Identifier: Apache-2.0
// The eager bodies of the example decoder against small oracles, and properties of the whole model.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "qwen3_5_moe/loss.hpp"
#include "qwen3_5_moe/model.hpp"
#include "qwen3_5_moe/probe.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {
namespace {

Tensor tensor_of(std::initializer_list<std::int64_t> sizes, std::initializer_list<float> values) {
  Tensor tensor(sizes);
  EXPECT_EQ(tensor.numel(), static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor.data());
  return tensor;
}

Tensor zeros(std::initializer_list<std::int64_t> sizes) {
  Tensor tensor(sizes);
  std::fill_n(tensor.data(), tensor.numel(), 0.0F);
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.shape(), b.shape()) &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.numel()) * sizeof(float)) == 0;
}

// Four layers, so that both mixers are there, at a quarter of the width.
Config small_config() {
  Config config;
  config.hidden_size = 64;
  config.num_hidden_layers = 4;
  config.head_dim = 32;
  config.linear_key_head_dim = 16;
  config.linear_value_head_dim = 24;
  config.num_experts = 8;
  config.num_experts_per_tok = 3;
  config.moe_intermediate_size = 40;
  config.shared_expert_intermediate_size = 24;
  return config;
}

std::vector<std::uint8_t> sample_bytes(std::size_t count) {
  constexpr std::string_view kText =
      "One declaration per operator; evidence, not belief. \xc3\xa9\n";
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(kText[(i * i / 7 + i) % kText.size()]);
  }
  return bytes;
}

TEST(Tensor, LinearMatchesTheDefinitionOnTilesAndRemainders) {
  Initializer init(1);
  for (const std::int64_t rows : {1, 4, 7}) {
    for (const std::int64_t out : {1, 8, 13}) {
      const Tensor x = init.normal({rows, 2, 19}, 1.0F), w = init.normal({out, 19}, 1.0F);
      const Tensor half = x.slice(1, 1, 1);  // rows that are not adjacent
      const Tensor y = linear(half, w);
      ASSERT_EQ(y.size(0), rows);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t o = 0; o < out; ++o) {
          float sum = 0.0F;
          for (std::int64_t k = 0; k < 19; ++k) sum += x.row(2 * r + 1)[k] * w.row(o)[k];
          EXPECT_EQ(y.row(r)[o], sum) << rows << " rows, element " << r << ", " << o;
        }
      }
    }
  }
}

TEST(Initializer, IsDeterministicAndHasTheStatedMoments) {
  Initializer a(7), b(7), other(8);
  const Tensor first = a.normal({300, 200}, 0.5F);
  EXPECT_TRUE(same_bits(first, b.normal({300, 200}, 0.5F)));
  EXPECT_FALSE(same_bits(first, other.normal({300, 200}, 0.5F)));
  EXPECT_FALSE(same_bits(first, a.normal({300, 200}, 0.5F)));
  double sum = 0.0, squares = 0.0;
  for (std::int64_t i = 0; i < first.numel(); ++i) {
    sum += first.data()[i];
    squares += static_cast<double>(first.data()[i]) * first.data()[i];
  }
  EXPECT_NEAR(sum / 60000.0, 0.0, 5.0 * 0.5 / std::sqrt(60000.0));
  EXPECT_NEAR(squares / 60000.0, 0.25, 0.005);
}

TEST(RmsNorm, AddsOneToTheWeightAndReadsStridedRows) {
  const Tensor x = tensor_of({2, 4}, {3, 4, 99, 99, -6, 8, 99, 99});
  const Tensor weight = tensor_of({2}, {0.0F, -0.5F});
  Tensor y({2, 2});
  rms_norm(x.slice(-1, 0, 2), weight, 0.0F, y);
  const float root = std::sqrt(2.0F);
  EXPECT_FLOAT_EQ(y.row(0)[0], 0.6F * root);
  EXPECT_FLOAT_EQ(y.row(0)[1], 0.4F * root);
  EXPECT_FLOAT_EQ(y.row(1)[0], -0.6F * root);
  EXPECT_FLOAT_EQ(y.row(1)[1], 0.4F * root);
}

TEST(RmsNormGated, NormalisesBeforeTheGateAndDoesNotAddOne) {
  const Tensor x = tensor_of({1, 2}, {3, 4}), z = tensor_of({1, 2}, {1, -2});
  Tensor y({1, 2});
  rms_norm_gated(x, z, tensor_of({2}, {2, 0.5F}), 0.0F, y);
  const float root = std::sqrt(2.0F);
  EXPECT_FLOAT_EQ(y.data()[0], 2.0F * 0.6F * root / (1.0F + std::exp(-1.0F)));
  EXPECT_FLOAT_EQ(y.data()[1], 0.5F * 0.8F * root * -2.0F / (1.0F + std::exp(2.0F)));
}

TEST(CausalConv1d, LastTapReadsThePresentAndThePastIsZero) {
  const Tensor x = tensor_of({3, 2}, {1, 10, 2, 20, 3, 30});
  Tensor y({3, 2});
  causal_conv1d(x, tensor_of({2, 4}, {7, 0, 0.5F, 1, 0, 0, 0, -0.1F}), y);
  const float expected[] = {silu(1.0F),  silu(-1.0F), silu(2.5F),
                            silu(-2.0F), silu(4.0F),  silu(-3.0F)};
  for (int i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(y.data()[i], expected[i]) << i;
}

// Worked by hand. One head, Dk = Dv = 2, unit keys, so that the state is easy to follow:
//   t0: k=(1,0) v=(4,2)  beta=1/2 decay 1    S = [2 1; 0 0]           q=(1,0): (2, 1)
//   t1: k=(0,1) v=(8,-8) beta=1/4 decay 1/2  S = [1 0.5; 2 -2]        q=(0,1): (2, -2)
//   t2: k=(1,0) v=(3,0)  beta=1   decay 1/2  S = [3 0; 1 -1]          q=(.6,.8): (2.6, -0.8)
// and every output carries the scale 1/sqrt(2).
TEST(GatedDeltaRule, MatchesTheRecurrenceWorkedByHand) {
  const Tensor q = tensor_of({3, 1, 2}, {1, 0, 0, 1, 3, 4});
  const Tensor k = tensor_of({3, 1, 2}, {5, 0, 0, 2, 1, 0});
  const Tensor v = tensor_of({3, 1, 2}, {4, 2, 8, -8, 3, 0});
  const float half = std::log(0.5F);
  Tensor y({3, 1, 2});
  chunk_gated_delta_rule(q, k, v, tensor_of({3, 1}, {0, half, half}),
                         tensor_of({3, 1}, {0.5F, 0.25F, 1}), y);
  const float expected[] = {2, 1, 2, -2, 2.6F, -0.8F};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(y.data()[i], expected[i] / std::sqrt(2.0F), 1e-5F) << i;
}

TEST(GatedDeltaRule, OrthonormalKeysRecallTheirValuesAndHeadsShareKeys) {
  constexpr std::int64_t kTokens = 8, kHeads = 4, kValueDim = 5;
  Tensor key = zeros({kTokens, 2, 4}), query = zeros({kTokens, 2, 4});
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < 2; ++h) {
      key.row(2 * t + h)[(t + h) % 4] = 2.0F;         // unit vectors once normalised
      query.row(2 * t + h)[(t + h + 2) % 4] = -3.0F;  // recalls the value stored two steps away
    }
  }
  Initializer init(5);
  const Tensor value = init.normal({kTokens, kHeads, kValueDim}, 1.0F);
  Tensor ones({kTokens, kHeads}), y = empty_like(value);
  std::fill_n(ones.data(), ones.numel(), 1.0F);
  chunk_gated_delta_rule(query, key, value, zeros({kTokens, kHeads}), ones, y);
  for (std::int64_t t = 2; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t j = 0; j < kValueDim; ++j) {
        const float stored = value.row((t - 2) * kHeads + h)[j];  // two back = two ahead, mod 4
        EXPECT_NEAR(y.row(t * kHeads + h)[j], -0.5F * stored, 1e-5F) << t << ", " << h << ", " << j;
      }
    }
  }
}

TEST(Attention, RotationKeepsPairNormsPassesTheTailAndDependsOnDistance) {
  Config config;
  config.head_dim = 16;
  config.partial_rotary_factor = 0.5F;
  config.rope_theta = 100.0;
  const RotaryTable rotary(config, 12);
  Initializer init(2);
  const Tensor source = init.normal({1, 1, 16}, 1.0F), other = init.normal({1, 1, 16}, 1.0F);
  Tensor x({12, 1, 16}), z({12, 1, 16});
  for (std::int64_t t = 0; t < 12; ++t) {
    std::copy_n(source.data(), 16, x.row(t));
    std::copy_n(other.data(), 16, z.row(t));
  }
  apply_rotary_pos_emb(x, rotary);
  apply_rotary_pos_emb(z, rotary);
  EXPECT_EQ(std::memcmp(x.row(0), source.data(), 16 * sizeof(float)), 0);
  for (std::int64_t t = 1; t < 12; ++t) {
    EXPECT_EQ(std::memcmp(x.row(t) + 8, source.data() + 8, 8 * sizeof(float)), 0) << t;
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(std::hypot(x.row(t)[j], x.row(t)[j + 4]),
                  std::hypot(source.data()[j], source.data()[j + 4]), 1e-6F);
    }
    EXPECT_NE(x.row(t)[0], source.data()[0]);
  }
  EXPECT_NEAR(dot(x.row(9), z.row(4), 16), dot(x.row(6), z.row(1), 16), 1e-4F);
  EXPECT_GT(std::fabs(dot(x.row(9), z.row(4), 16) - dot(x.row(9), z.row(1), 16)), 1e-2F);
}

TEST(Attention, EqualKeysAverageTheVisibleValuesOfTheHeadGroup) {
  Initializer init(3);
  const Tensor query = init.normal({5, 4, 8}, 1.0F), value = init.normal({5, 2, 8}, 1.0F);
  Tensor key({5, 2, 8});
  std::fill_n(key.data(), key.numel(), 0.75F);
  const Tensor out = causal_attention(query, key, value);
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t h = 0; h < 4; ++h) {
      for (std::int64_t d = 0; d < 8; ++d) {
        float mean = 0.0F;
        for (std::int64_t s = 0; s <= t; ++s) mean += value.row(2 * s + h / 2)[d];
        EXPECT_NEAR(out.row(4 * t + h)[d], mean / static_cast<float>(t + 1), 1e-6F);
      }
    }
  }
}

TEST(SparseMoe, RoutingWeightsSumToOneAndTakeTheBestExperts) {
  const Config config = small_config();
  Initializer init(11);
  const SparseMoe moe(config, init);
  const Routing routing = moe.route(init.normal({50, config.hidden_size}, 1.0F));
  for (std::int64_t t = 0; t < 50; ++t) {
    const std::int64_t* index = routing.index.row<std::int64_t>(t);
    const float* logits = routing.logits.row(t);
    float sum = 0.0F, worst_chosen = INFINITY;
    for (std::int64_t s = 0; s < 3; ++s) {
      sum += routing.weights.row(t)[s];
      worst_chosen = std::min(worst_chosen, logits[index[s]]);
    }
    EXPECT_NEAR(sum, 1.0F, 1e-6F);
    EXPECT_EQ(std::count_if(logits, logits + 8, [&](float l) { return l >= worst_chosen; }), 3);
  }
}

TEST(SparseMoe, EqualLogitsChooseTheLowerIndex) {
  Initializer init(11);
  SparseMoe moe(small_config(), init);
  std::fill_n(moe.gate.data(), moe.gate.numel(), 0.0F);
  const Routing routing = moe.route(init.normal({1, 64}, 1.0F));
  for (std::int64_t s = 0; s < 3; ++s) EXPECT_EQ(routing.index.row<std::int64_t>(0)[s], s);
}

TEST(SparseMoe, ExpertsAreWeightedSwigluBlocks) {
  Initializer init(13);
  const Tensor x = init.normal({6, 10}, 1.0F);
  const Tensor gate_up = init.projection({3, 14, 10}), down = init.projection({3, 10, 7});
  Tensor index({6, 2}, kw::DType::kI64), weights = init.uniform({6, 2}, 0.0F, 1.0F),
                                         y = empty_like(x);
  for (std::int64_t i = 0; i < 12; ++i) index.data<std::int64_t>()[i] = (i * 5 + i / 4) % 3;
  moe_experts(x, index, weights, gate_up, down, y);
  for (std::int64_t t = 0; t < 6; ++t) {
    std::vector<double> expected(10, 0.0);
    for (std::int64_t s = 0; s < 2; ++s) {
      const std::int64_t e = index.row<std::int64_t>(t)[s];
      const Tensor both = gate_up.slice(0, e, 1).reshape({14, 10});
      const Tensor block = swiglu_mlp(x.slice(0, t, 1), both.slice(0, 0, 7), both.slice(0, 7, 7),
                                      down.slice(0, e, 1).reshape({10, 7}));
      for (std::int64_t i = 0; i < 10; ++i) {
        expected[i] += static_cast<double>(weights.row(t)[s]) * block.data()[i];
      }
    }
    for (std::int64_t i = 0; i < 10; ++i)
      EXPECT_NEAR(y.row(t)[i], expected[i], 1e-5) << t << ", " << i;
  }
}

TEST(Loss, UniformLogitsGiveLnVocabAndLabelsAreShifted) {
  Tensor logits = zeros({3, 4}), labels({3}, kw::DType::kI64), loss({1});
  for (int t = 0; t < 3; ++t) labels.data<std::int64_t>()[t] = t;
  causal_lm_loss(logits, labels, loss);
  EXPECT_NEAR(loss.data()[0], std::log(4.0F), 1e-6F);

  logits.row(0)[1] = logits.row(1)[2] = 50.0F;  // predicts the next label
  causal_lm_loss(logits, labels, loss);
  EXPECT_NEAR(loss.data()[0], 0.0F, 1e-6F);

  logits.row(0)[1] = 0.0F;
  labels.data<std::int64_t>()[1] = kIgnoreIndex;
  causal_lm_loss(logits, labels, loss);
  EXPECT_NEAR(loss.data()[0], 0.0F, 1e-6F);
  labels.data<std::int64_t>()[2] = kIgnoreIndex;
  causal_lm_loss(logits, labels, loss);
  EXPECT_EQ(loss.data()[0], 0.0F);
}

TEST(Loss, BalancedRoutersGiveTopKAndCollapsedOnesMore) {
  Tensor first = zeros({4, 4}), second = zeros({4, 4}), loss({1});
  for (std::int64_t t = 0; t < 4; ++t) first.row(t)[t] = second.row(t)[3 - t] = 60.0F;
  load_balancing_loss({first, second}, 1, loss);
  EXPECT_NEAR(loss.data()[0], 1.0F, 1e-6F);
  for (std::int64_t t = 0; t < 4; ++t) {
    std::fill_n(first.row(t), 4, 0.0F);
    first.row(t)[2] = 60.0F;
  }
  load_balancing_loss({first}, 1, loss);
  EXPECT_NEAR(loss.data()[0], 4.0F, 1e-6F);
  // Half of all rows collapsed: counts (1,1,5,1), masses alike, E / N^2 * (25 + 3) = 4 / 64 * 28.
  load_balancing_loss({first, second}, 1, loss);
  EXPECT_NEAR(loss.data()[0], 1.75F, 1e-6F);
}

TEST(Model, UntrainedLossIsNearLnVocab) {
  const Model model{Config{}};
  const CausalLmOutput output = model.forward(sample_bytes(96));
  EXPECT_NEAR(output.loss, std::log(256.0F) + 0.125F, 0.25F);
  EXPECT_NEAR(output.aux_loss, 4.0F, 0.4F);
  ASSERT_EQ(output.router_logits.size(), 8U);
  const Tensor& logits = output.logits;
  const double scale = std::sqrt(dot(logits.data(), logits.data(), logits.numel()) /
                                 static_cast<float>(logits.numel()));
  EXPECT_NEAR(scale, 0.5, 0.1);
}

TEST(Model, LaterBytesChangeNoEarlierLogit) {
  const Model model(small_config());
  const std::vector<std::uint8_t> bytes = sample_bytes(41);
  const Tensor before = model.forward(bytes).logits;
  for (const std::size_t t : {1U, 7U, 40U}) {
    std::vector<std::uint8_t> changed = bytes;
    changed[t] ^= 0x15U;
    const Tensor after = model.forward(changed).logits;
    const auto row = static_cast<std::int64_t>(t);
    EXPECT_TRUE(same_bits(before.slice(0, 0, row), after.slice(0, 0, row))) << "byte " << t;
    EXPECT_FALSE(same_bits(before.slice(0, row, 1), after.slice(0, row, 1))) << "byte " << t;
    EXPECT_FALSE(same_bits(before.slice(0, 40, 1), after.slice(0, 40, 1))) << "byte " << t;
  }
}

TEST(Model, BitsDoNotDependOnTheNumberOfThreads) {
  const Model model(small_config());
  const std::vector<std::uint8_t> bytes = sample_bytes(67);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const CausalLmOutput one = model.forward(bytes);
  omp_set_num_threads(3);
  const CausalLmOutput three = model.forward(bytes);
  omp_set_num_threads(threads);
  EXPECT_TRUE(same_bits(one.logits, three.logits));
  EXPECT_EQ(one.loss, three.loss);
  EXPECT_EQ(one.aux_loss, three.aux_loss);
}

TEST(Model, OneByteHasNoNextByteAndNoLoss) {
  const Model model(small_config());
  EXPECT_EQ(model.forward(sample_bytes(1)).loss, 0.0F);
}

TEST(Probe, RecordsEveryReplaceableCallAndReplaysItsBits) {
  const Model model(small_config());
  CallRecorder recorder;
  const CausalLmOutput output = model.forward(sample_bytes(9));
  std::vector<RecordedCall> calls = recorder.finish();
  const auto count = [&](const kw::OpSlot& slot) {
    return std::ranges::count(calls, &slot, &RecordedCall::slot);
  };
  EXPECT_EQ(count(kw_rms_norm), 4 * 2 + 1 + 2);
  EXPECT_EQ(count(kw_moe_experts), 4);
  EXPECT_EQ(count(kw_causal_conv1d), 3);
  EXPECT_EQ(count(kw_chunk_gated_delta_rule), 3);
  EXPECT_EQ(count(kw_rms_norm_gated), 3);
  EXPECT_EQ(count(kw_causal_lm_loss), 1);
  EXPECT_EQ(count(kw_load_balancing_loss), 1);
  for (RecordedCall& call : calls) {
    call.run();
    const float first = call.outputs.front().data()[0];
    if (call.slot == &kw_causal_lm_loss) {
      EXPECT_EQ(first, output.loss);
    }
    if (call.slot == &kw_load_balancing_loss) {
      EXPECT_EQ(first, output.aux_loss);
    }
  }
  model.forward(sample_bytes(3));  // nothing listens
  EXPECT_TRUE(recorder.finish().empty());
}

}  // namespace
}  // namespace qwen3_5_moe
