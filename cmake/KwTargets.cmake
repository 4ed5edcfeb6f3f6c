# SPDX-License-Identifier: Apache-2.0
# How sources become targets. Every list of sources is a glob with CONFIGURE_DEPENDS over fixed
# places, so that adding a file edits no CMakeLists.txt. A target whose folder holds no source yet is
# an interface, so that the layers above it can name it all the same.

# kw_add_archive(<target> SOURCES ... [LINK ...]): static library, or interface without sources.
function(kw_add_archive target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRIVATE")
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PUBLIC kw_options ${arg_LINK} PRIVATE ${arg_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE kw_options ${arg_LINK})
  endif()
endfunction()

# kw_set_cold(<file>...): sources that no call goes through and that do not loop over elements are
# compiled with -O1: 6:05 for `make demo` from nothing became 5:25.
function(kw_set_cold)
  if(NOT KW_SANITIZE)  # has its own level
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# kw_add_layer(<layer> [BELOW <layer>...] [PRIVATE <third-party target>...] [SOURCES <file>...]
#              [COLD [HOT <name>...]]): archive kw_<layer> of the current folder; what it holds also goes
# into libkw.so. COLD: kw_set_cold, but for HOT, sources of the folder without `.cpp`.
function(kw_add_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "BELOW;PRIVATE;SOURCES;HOT")
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  set(below ${arg_BELOW})
  list(TRANSFORM below PREPEND kw_)
  kw_add_archive(kw_${layer} SOURCES ${arg_SOURCES} LINK ${below} PRIVATE ${arg_PRIVATE})
  if(arg_COLD)
    set(cold ${arg_SOURCES})
    foreach(name IN LISTS arg_HOT)
      list(REMOVE_ITEM cold ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp)
    endforeach()
    kw_set_cold(${cold})
  endif()
  if(arg_SOURCES)
    set_property(GLOBAL APPEND PROPERTY KW_LAYER_OBJECTS $<TARGET_OBJECTS:kw_${layer}>)
    set_property(GLOBAL APPEND PROPERTY KW_LAYER_LIBRARIES ${arg_PRIVATE})
  endif()
endfunction()

# Vendor adapters become plugins; they are no part of kw_ops.
set(KW_VENDOR_SOLUTIONS cublaslt cudnn onednn)

# kw_add_operation(<operation>): the sources of one folder of src/ops join kw_ops. Which names may
# stand there is the business of tools/check_operations.py.
function(kw_add_operation operation)
  file(GLOB sources CONFIGURE_DEPENDS ${operation}/*.cpp)
  foreach(vendor IN LISTS KW_VENDOR_SOLUTIONS)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${operation}/${vendor}.cpp)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY KW_OPS_SOURCES ${sources})
  # Vector code: Highway's lane types and the compilers' integer promotions make -Wconversion noise.
  set(options -Wno-conversion)
  if(KW_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 follows every inlined vector into and out of scope: over 8 minutes instead of 2.5.
    list(APPEND options -fno-sanitize-address-use-after-scope)
  endif()
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/${operation}/native_kernels.cpp
    PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()
