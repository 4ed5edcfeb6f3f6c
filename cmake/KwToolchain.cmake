# SPDX-License-Identifier: Apache-2.0
# Language level, launchers, linker, and the interface target kw_options that every own target links:
# warnings, sanitizers, include path. Build trees of any generator look alike: bin/ and lib/.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(KW_CCACHE ccache)
if(KW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KW_CCACHE})
endif()
find_program(KW_MOLD mold)
if(KW_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,-z,defs)

add_library(kw_options INTERFACE)
target_include_directories(kw_options INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(kw_options INTERFACE KW_VERSION="${PROJECT_VERSION}")
target_compile_options(kw_options INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion
  # g++'s full -Wshadow objects to constructor parameters named like the field; clang's does not.
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>
  # Args{.x = x, .y = y}: what is not named takes its default.
  -Wno-missing-field-initializers
  # g++ 12 invents overlaps in inlined std::string operations (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${KW_WERROR}>:-Werror>
  # A product is rounded where the source rounds it, whatever the compiler and instruction set;
  # fused multiply-adds are written out.
  -ffp-contract=off)

if(KW_SANITIZE)
  if(NOT KW_SANITIZE MATCHES "^(address|undefined|thread)$")
    message(FATAL_ERROR "KW_SANITIZE=${KW_SANITIZE}: use address, undefined or thread")
  endif()
  # -z defs contradicts a sanitizer runtime that the executable provides.
  add_link_options(-Wl,-z,undefs)
  set(flags -fsanitize=${KW_SANITIZE} -fno-omit-frame-pointer -g1)
  if(KW_SANITIZE STREQUAL "undefined")
    list(APPEND flags -fno-sanitize-recover=all)
  endif()
  add_compile_options(${flags})
  add_link_options(${flags})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
