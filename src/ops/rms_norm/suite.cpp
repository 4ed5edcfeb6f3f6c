// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/suite.hpp"

#include "kernelwright/ops/rms_norm/contract.hpp"

namespace kw::ops::rms_norm {

// Widths 128 and 7168 are the per-head and hidden sizes of the models in view; 513 and 262143 are
// odd; 4 and 262144 the ends of the range. Strides: rows of a packed projection, an expanded
// gradient.
std::vector<suite::SuiteSpec> suites() {
  return {
      {"rms_norm",
       {{"smoke",
         {"rms_norm/{standard,fp32,qwen3_5} x={T:bf16,f16,f32}[5,{C:128,513}] weight={T}[{C}]",
          "rms_norm/unweighted x={T:bf16,f16,f32}[5,{C:128,513}]",
          "rms_norm/{standard,qwen3_5} x=bf16[0,128] weight=bf16[128] want_rstd=true"}},
        {"ci",
         {"rms_norm/{standard,fp32,qwen3_5} x={T:bf16,f16}[{R:1,16,128,4096},{C:512,2048,6144}] "
          "weight={T}[{C}]",
          "rms_norm/unweighted x={T:bf16,f16}[{R:1,16,128,4096},{C:512,2048,6144}]",
          "rms_norm/{standard,fp32,qwen3_5} x=f32[{R:1,128},{C:1,2,3,4,31,513,7168}] "
          "weight=f32[{C}] want_rstd=true",
          "rms_norm/{standard,fp32,qwen3_5} x={T:bf16,f16}[7,{C:1,33,128,4099}] weight=f32[{C}] "
          "want_rstd=true",
          "rms_norm/{standard,qwen3_5} x=bf16[2,9,4,128]:[18432,2048,256,1] weight=bf16[128] "
          "want_rstd=true",
          "rms_norm/{standard,fp32,qwen3_5} x=bf16[11,514]:[1028,2] weight=bf16[514]",
          "rms_norm/{standard,qwen3_5} x=bf16[3,{C:262143,262144}]@2 weight=bf16[{C}]@2",
          "rms_norm/qwen3_5 x=f16[64,96]:[0,1] weight=f16[96]",
          "rms_norm/standard x=bf16[{R:0,1},7168] weight=bf16[7168] want_rstd=true"}},
        {"full",
         {"rms_norm/{standard,fp32,qwen3_5} "
          "x={T:bf16,f16,f32}[{R:1,1000},{C:1,7,8,15,16,17,63,64,65,127,255,257,1023,4095,4097,"
          "7168,16384,65537}] weight={T}[{C}] want_rstd=true",
          "rms_norm/unweighted "
          "x={T:bf16,f16,f32}[{R:1,1000},{C:1,7,8,16,17,64,127,1023,4097,16384,65537}] "
          "want_rstd=true",
          "rms_norm/qwen3_5 x=bf16[16384,{C:128,4096}] weight=bf16[{C}] want_rstd=true"}},
        {"bench",
         {"rms_norm/{standard,qwen3_5} x=bf16[{R:1,16,16384},{C:4096,7168}] weight=bf16[{C}]",
          "rms_norm/qwen3_5 x=bf16[262144,128] weight=bf16[128]",
          "rms_norm/standard x=f32[8192,4096] weight=f32[4096]"}}}},
      {"rms_norm_backward",
       {{"smoke",
         {"rms_norm_backward/{standard,fp32,qwen3_5} dy={T:bf16,f16,f32}[5,{C:128,513}] "
          "x={T}[5,{C}] weight={T}[{C}] want_dx=true want_dweight=true",
          "rms_norm_backward/unweighted dy={T:bf16,f32}[5,128] x={T}[5,128] want_dx=true",
          "rms_norm_backward/standard dy=bf16[0,128] x=bf16[0,128] weight=bf16[128] want_dx=true "
          "want_dweight=true"}},
        {"ci",
         {"rms_norm_backward/{standard,qwen3_5} "
          "dy={T:bf16,f16}[{R:1,16,128,4096},{C:512,2048,6144}] x={T}[{R},{C}] weight={T}[{C}] "
          "rstd=f32[{R}] want_dx=true want_dweight=true",
          "rms_norm_backward/{standard,fp32,qwen3_5} dy=f32[{R:1,130},{C:1,3,31,513,7168}] "
          "x=f32[{R},{C}] weight=f32[{C}] want_dx=true want_dweight=true",
          "rms_norm_backward/unweighted dy={T:bf16,f16,f32}[{R:1,130},{C:3,128,4099}] "
          "x={T}[{R},{C}] want_dx=true",
          "rms_norm_backward/fp32 dy=bf16[33,520] x=bf16[33,520] weight=f32[520] "
          "want_dx={true,false} want_dweight=true",
          "rms_norm_backward/qwen3_5 dy=bf16[2,9,4,128]:[0,0,0,0] "
          "x=bf16[2,9,4,128]:[18432,2048,256,1] weight=bf16[128] want_dx=true want_dweight=true",
          "rms_norm_backward/standard dy=bf16[3,262143]@2 x=bf16[3,262143]@2 weight=bf16[262143]@2 "
          "want_dx=true want_dweight=true",
          "rms_norm_backward/standard dy=bf16[9000,128] x=bf16[9000,128] weight=bf16[128] "
          "want_dx=true want_dweight=true"}},
        {"full",
         {"rms_norm_backward/{standard,fp32,qwen3_5} "
          "dy={T:bf16,f16,f32}[{R:1,1000},{C:1,7,16,17,64,127,257,1023,4097,16384,65537}] "
          "x={T}[{R},{C}] weight={T}[{C}] want_dx=true want_dweight=true",
          "rms_norm_backward/qwen3_5 dy=bf16[262144,128] x=bf16[262144,128] weight=bf16[128] "
          "want_dx=true want_dweight=true"}},
        {"bench",
         {"rms_norm_backward/{standard,qwen3_5} dy=bf16[16384,{C:4096,7168}] x=bf16[16384,{C}] "
          "weight=bf16[{C}] rstd=f32[16384] want_dx=true want_dweight=true",
          "rms_norm_backward/qwen3_5 dy=bf16[262144,128] x=bf16[262144,128] weight=bf16[128] "
          "rstd=f32[262144] want_dx=true want_dweight=true",
          "rms_norm_backward/standard dy=f32[8192,4096] x=f32[8192,4096] weight=f32[4096] "
          "rstd=f32[8192] want_dx=true want_dweight=true"}}}},
  };
}

}  // namespace kw::ops::rms_norm
