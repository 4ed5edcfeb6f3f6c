# SPDX-License-Identifier: Apache-2.0
# Headers and library of the wheel apache-tvm-ffi in the interpreter KW_PYTHON: TVM_FFI_ROOT, and the
# target tvm_ffi_wheel. Looked up without importing it, for the import would load PyTorch.
set(KW_PYTHON "" CACHE FILEPATH "Python whose packages src/ffi and the Python tests use")
if(NOT KW_PYTHON)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/python/bin/python)
    set(KW_PYTHON ${PROJECT_SOURCE_DIR}/.venv/python/bin/python)
  else()
    find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
    set(KW_PYTHON ${Python3_EXECUTABLE})
  endif()
endif()
execute_process(
  COMMAND ${KW_PYTHON} -c "import importlib.util as u; s = u.find_spec('tvm_ffi'); print(s.submodule_search_locations[0] if s else '')"
  OUTPUT_VARIABLE TVM_FFI_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(TVM_FFI_ROOT AND NOT TARGET tvm_ffi_wheel)
  add_library(tvm_ffi_wheel SHARED IMPORTED)
  set_target_properties(tvm_ffi_wheel PROPERTIES
    IMPORTED_LOCATION ${TVM_FFI_ROOT}/lib/libtvm_ffi.so
    INTERFACE_INCLUDE_DIRECTORIES ${TVM_FFI_ROOT}/include)
endif()
