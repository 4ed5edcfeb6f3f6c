# SPDX-License-Identifier: Apache-2.0
# Test targets; tests/CMakeLists.txt says which file becomes what.
include(GoogleTest)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

# Reports are held to their JSON Schema by Python's jsonschema: Debian's, or that of CMake's interpreter.
function(kw_find_schema_python result)
  foreach(python /usr/bin/python3 ${Python3_EXECUTABLE})
    execute_process(COMMAND ${python} -c "import jsonschema" RESULT_VARIABLE status
      OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(${result} ${python} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "The tests need Python's jsonschema: apt-get install python3-jsonschema")
endfunction()

# The archive that a test folder exercises. Layers link statically, so that a test of a lower layer
# does not wait for a higher one; the rest goes through libkw.so like a user.
function(kw_library_under_test folder result)
  if(folder MATCHES "^(base|core|runtime|jit|suite|tune)(/|$)")
    set(library kw_${CMAKE_MATCH_1})
  elseif(folder MATCHES "^backend/([a-z]+)")
    set(library kw_backend_${CMAKE_MATCH_1})
  elseif(folder MATCHES "^capi(/|$)")
    set(library kw_capi)
  elseif(folder MATCHES "^(ops|kit)(/|$)")
    set(library kw_ops)
  elseif(folder STREQUAL "examples")
    get_property(library GLOBAL PROPERTY KW_EXAMPLES)
  else()
    set(library kw_cli)
  endif()
  set(${result} ${library} PARENT_SCOPE)
endfunction()

# tests/support/*.cpp: shared by every test executable.
function(kw_add_test_support)
  file(GLOB sources CONFIGURE_DEPENDS support/*.cpp)
  kw_add_archive(kw_test_support SOURCES ${sources} LINK kw_runtime PRIVATE GTest::gtest fmt::fmt)
  kw_find_schema_python(python)
  set_source_files_properties(support/report_schema.cpp PROPERTIES COMPILE_DEFINITIONS
    "KW_SCHEMA_PYTHON=\"${python}\";KW_SOURCE_FOLDER=\"${PROJECT_SOURCE_DIR}\"")
  target_include_directories(kw_test_support INTERFACE ${PROJECT_SOURCE_DIR}/tests)
  if(sources)
    target_include_directories(kw_test_support PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  endif()
endfunction()

# tests/<folder>/libraries/<name>.{c,cpp}: lib/lib<name>.so of the build tree, for tests of what the
# library loads by path.
function(kw_add_test_libraries)
  file(GLOB sources CONFIGURE_DEPENDS */libraries/*.cpp */libraries/*.c */*/libraries/*.cpp */*/libraries/*.c)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_library(${name} SHARED ${source})
    set_target_properties(${name} PROPERTIES C_STANDARD 11 CXX_STANDARD 20)
  endforeach()
endfunction()

# kw_add_test_executable(<folder> <name> SOURCES <file>... LINK <library>...)
function(kw_add_test_executable folder name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LINK")
  kw_library_under_test(${folder} library)
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -Wno-dangling-else)  # `if (c) EXPECT_...` is fine
  # The library first: where it is libkw.so, a second copy from the archives below the support would
  # have types and globals of its own.
  target_link_libraries(${name} PRIVATE ${library} kw_test_support ${arg_LINK} GTest::gtest fmt::fmt
    nlohmann_json::nlohmann_json yaml-cpp hwy::hwy OpenMP::OpenMP_CXX Threads::Threads)
endfunction()

function(kw_add_test_folder folder)
  string(REPLACE "/" "_" stem kw_${folder})
  file(GLOB support CONFIGURE_DEPENDS ${folder}/support/*.cpp)
  if(folder STREQUAL "capi")  # calls the toy operations of core through C
    file(GLOB toys CONFIGURE_DEPENDS core/support/*.cpp)
    list(APPEND support ${toys})
  endif()
  file(GLOB tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
  set(kinds slow gpu isolated)
  foreach(kind IN LISTS kinds)
    set(${kind} ${tests})
    list(FILTER ${kind} INCLUDE REGEX "_${kind}_test\\.cpp$")
    list(FILTER tests EXCLUDE REGEX "_${kind}_test\\.cpp$")
  endforeach()

  # A test of kernels owns both cores and the caches that it races over.
  # Sanitizers slow a test down by 5 (address) to 20 times (thread).
  set(label unit)
  set(seconds 120)
  set(cores 1)
  if(folder MATCHES "^(ops|backend/cpu)(/|$)")
    set(label cpu)
    set(seconds 600)
  endif()
  if(folder MATCHES "^ops/")
    set(cores 2)
  endif()
  if(KW_SANITIZE)
    math(EXPR seconds "10 * ${seconds}")
  endif()
  set(limits TIMEOUT ${seconds} PROCESSORS ${cores})

  if(tests)
    kw_add_test_executable(${folder} ${stem}_tests SOURCES ${tests} ${support} LINK GTest::gtest_main)
    add_test(NAME ${stem} COMMAND ${stem}_tests --gtest_brief=1)
    set_tests_properties(${stem} PROPERTIES LABELS ${label} ${limits})
  endif()
  if(slow)
    kw_add_test_executable(${folder} ${stem}_slow_tests
      SOURCES ${slow} ${support} LINK GTest::gtest_main)
    add_test(NAME ${stem}_slow COMMAND ${stem}_slow_tests --gtest_brief=1)
    set_tests_properties(${stem}_slow PROPERTIES LABELS slow TIMEOUT 3000 PROCESSORS 2)
  endif()
  if(gpu)
    # gpu_main.cpp exits 77 when nothing ran, so that ctest reports the skip instead of a pass.
    kw_add_test_executable(${folder} ${stem}_gpu_tests
      SOURCES ${gpu} ${support} ${PROJECT_SOURCE_DIR}/tests/gpu_main.cpp)
    add_test(NAME ${stem}_gpu COMMAND ${stem}_gpu_tests)
    set_tests_properties(${stem}_gpu PROPERTIES
      LABELS gpu TIMEOUT 900 RESOURCE_LOCK gpu SKIP_RETURN_CODE 77)
  endif()
  if(isolated)
    kw_add_test_executable(${folder} ${stem}_isolated_tests
      SOURCES ${isolated} ${support} LINK GTest::gtest_main)
    gtest_discover_tests(${stem}_isolated_tests
      PROPERTIES LABELS ${label} TIMEOUT ${seconds} DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

# tests/<folder>/*_test.c: a C11 program each, linked with libkw.so as a user's; passes by exit code 0.
function(kw_add_c_tests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *_test.c)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(kw_c_${name} ${source})
    set_target_properties(kw_c_${name} PROPERTIES
      C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_compile_options(kw_c_${name} PRIVATE -Wall -Wextra -pedantic -Werror)
    target_include_directories(kw_c_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(kw_c_${name} PRIVATE kernelwright)
    add_test(NAME kw_c_${name} COMMAND kw_c_${name})
    set_tests_properties(kw_c_${name} PROPERTIES LABELS unit TIMEOUT 60)
  endforeach()
endfunction()

# Each tests/compile_fail/*.cpp must be rejected with the text of its `// expect:` line.
function(kw_add_compile_fail_tests)
  file(GLOB sources CONFIGURE_DEPENDS compile_fail/*.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME compile_fail.${name}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_compile_fail.py
        --compiler ${CMAKE_CXX_COMPILER} ${source})
    set_tests_properties(compile_fail.${name} PROPERTIES LABELS "slow;script" TIMEOUT 60)
  endforeach()
endfunction()

# tools/check_*.py over the tree, and tools/tests/*_test.py that show each of them failing.
# Label `script` lets the sanitizer runs leave them out.
function(kw_add_script_test name label)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${label};script" TIMEOUT 600)
endfunction()

function(kw_add_script_tests)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/tests/*_test.py)
  foreach(test IN LISTS tests)
    get_filename_component(name ${test} NAME_WE)
    kw_add_script_test(tools.${name} unit ${test})
  endforeach()
  foreach(name layers operations operator_names file_sizes style)
    kw_add_script_test(check.${name} unit tools/check_${name}.py)
  endforeach()
  kw_add_script_test(check.documents slow tools/check_documents.py
    --build ${PROJECT_BINARY_DIR} --compiler ${CMAKE_CXX_COMPILER})
  # Two compilers over every header: minutes at first, then only what changed.
  kw_add_script_test(check.headers slow tools/check_headers.py
    --cache ${PROJECT_BINARY_DIR}/.cache/headers.json --build ${PROJECT_BINARY_DIR})
  kw_add_script_test(check.install slow tools/check_install.py --build ${PROJECT_BINARY_DIR})
  kw_add_script_test(check.symbol_floor unit tools/check_symbol_floor.py
    --build ${PROJECT_BINARY_DIR})
endfunction()

# tests/bench/*_bench.cpp are one executable; each *_gpu_bench.cpp has a main() and is its own.
function(kw_add_micro_bench)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS bench/*.cpp)
  set(gpu ${sources})
  list(FILTER gpu INCLUDE REGEX "_gpu_bench\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_gpu_bench\\.cpp$")
  foreach(source IN LISTS gpu)
    get_filename_component(name ${source} NAME_WE)
    add_executable(kw_${name} ${source})
    target_compile_options(kw_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
    target_link_libraries(kw_${name} PRIVATE kernelwright kw_options fmt::fmt
      nlohmann_json::nlohmann_json)
    set_target_properties(kw_${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  endforeach()
  if(sources)
    add_executable(kw_micro_bench ${sources})
    target_compile_options(kw_micro_bench PRIVATE $<$<CONFIG:Release>:-O3>)
    target_include_directories(kw_micro_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(kw_micro_bench PRIVATE kernelwright kw_options benchmark::benchmark_main
      benchmark::benchmark fmt::fmt nlohmann_json::nlohmann_json OpenMP::OpenMP_CXX)
  endif()
endfunction()
