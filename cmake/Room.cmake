# A room is a folder at the root: a static library ulpfuzz_<name> of <name>/*.cc, and a test
# binary test_<name> of tests/<name>/*.cc. Sub-folders are apart (systems/libtorch is the worker).

# ulpfuzz_room(<name> [DEPENDS <room>...] [LIBRARIES <target>...])
#
# DEPENDS names the rooms that this one may include; it is public, so a room sees what its rooms
# see. A room without sources makes no target, and a dependency on it is dropped.
function(ulpfuzz_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;LIBRARIES")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${name}/*.cc")
  if(NOT sources)
    return()
  endif()
  add_library(ulpfuzz_${name} STATIC ${sources})
  target_link_libraries(ulpfuzz_${name} PUBLIC ulpfuzz_options ${arg_LIBRARIES})
  foreach(room IN LISTS arg_DEPENDS)
    if(TARGET ulpfuzz_${room})
      target_link_libraries(ulpfuzz_${name} PUBLIC ulpfuzz_${room})
    endif()
  endforeach()
endfunction()

# ulpfuzz_test(<name> [WHOLE] [SERIAL] [DEPENDS <target>...] [LIBRARIES <target>...])
#
# test_<name> of tests/<name>/*.cc; nothing where there are none. DEPENDS: binaries that it runs.
# Each GoogleTest test is a ctest test, found when ctest starts; with WHOLE the binary is one ctest
# test, for tests that share a fixture dear to start (a warmed-up host). SERIAL: nothing runs beside.
# A test that hangs is ended after a quarter of an hour, a whole binary after an hour, and named.
# Tests run in the source root; the binaries are in the folder that ULPFUZZ_BUILD_DIR names.
function(ulpfuzz_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE;SERIAL" "" "DEPENDS;LIBRARIES")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*.cc")
  if(NOT BUILD_TESTING OR NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE ulpfuzz_options ${arg_LIBRARIES} GTest::gmock
                                             GTest::gtest_main)
  foreach(target IN LISTS arg_DEPENDS)
    if(TARGET ${target})
      add_dependencies(test_${name} ${target})
    endif()
  endforeach()
  set(properties LABELS ${name} ENVIRONMENT "ULPFUZZ_BUILD_DIR=${PROJECT_BINARY_DIR}")
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  if(arg_WHOLE)
    add_test(
      NAME ${name}
      COMMAND test_${name} --gtest_brief=1
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES ${properties} TIMEOUT 3600)
  else()
    gtest_discover_tests(
      test_${name}
      DISCOVERY_MODE PRE_TEST
      TEST_PREFIX "${name}."
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      PROPERTIES ${properties} TIMEOUT 900)
  endif()
endfunction()
