# SPDX-License-Identifier: Apache-2.0
# A tree that runs wherever it is put: bin/kw, lib/libkw.so and lib/libkw_cli.so find each other and the
# bundled third-party libraries through $ORIGIN. The build tree has the same shape (bin/, lib/, share/), so
# that kw finds its data at ../share/kernelwright in both.
include(CMakePackageConfigHelpers)

set(data share/kernelwright)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${data})
foreach(folder configs examples)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_BINARY_DIR}/${data}/${folder} SYMBOLIC)
endforeach()

file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/suite/report.schema.json
  ${PROJECT_BINARY_DIR}/${data}/report.schema.json SYMBOLIC)

install(TARGETS kernelwright EXPORT kernelwright_targets RUNTIME_DEPENDENCY_SET bundle
        LIBRARY DESTINATION lib)
install(TARGETS kw_cli kw RUNTIME_DEPENDENCY_SET bundle
        RUNTIME DESTINATION bin LIBRARY DESTINATION lib)

# What a machine without our build packages lacks. libstdc++ and libc stay the system's.
install(RUNTIME_DEPENDENCY_SET bundle DIRECTORIES ${PROJECT_BINARY_DIR}/lib
  PRE_INCLUDE_REGEXES "^lib(fmt|hwy|yaml-cpp|crypto|gomp)\\.so"
  PRE_EXCLUDE_REGEXES ".*"
  LIBRARY DESTINATION lib)
foreach(package IN LISTS KW_BUNDLED_PACKAGES)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/kernelwright/third_party
          RENAME ${package} OPTIONAL)
endforeach()
install(FILES LICENSE DESTINATION share/doc/kernelwright)

install(FILES src/suite/report.schema.json DESTINATION ${data})
install(DIRECTORY configs DESTINATION ${data} FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY examples DESTINATION ${data} FILES_MATCHING PATTERN "*.txt"
        PATTERN CMakeLists.txt EXCLUDE)
install(CODE "set(KW_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")\nset(KW_INCLUDE_FOLDER include)")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/KwInstallHeaders.cmake)

set(package lib/cmake/kernelwright)
install(EXPORT kernelwright_targets NAMESPACE kernelwright:: DESTINATION ${package}
        FILE kernelwrightConfig.cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kernelwrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kernelwrightConfigVersion.cmake DESTINATION ${package})
