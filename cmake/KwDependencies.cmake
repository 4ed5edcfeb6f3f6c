# SPDX-License-Identifier: Apache-2.0
# Third-party libraries. Debian 12 has all of them (tools/setup.sh); nothing is downloaded here.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(fmt 9 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(hwy REQUIRED)
find_package(CLI11 REQUIRED)
if(KW_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()
find_package(tvm_ffi_wheel MODULE QUIET)  # KW_PYTHON, TVM_FFI_ROOT; src/ffi does without

# Debian's packages of what an installed tree and a wheel bundle: their copyright files go along.
set(KW_BUNDLED_PACKAGES libfmt9 libhwy1 libyaml-cpp0.7 libssl3 libgomp1)
