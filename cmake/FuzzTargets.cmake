# Our own parsers under libFuzzer: fuzz/targets/NAME.cc becomes fuzz_NAME. With ULPFUZZ_LIBFUZZER (clang;
# the preset `libfuzzer`) it is a fuzzer; else it replays files, and a test runs it on its seeds.
option(ULPFUZZ_LIBFUZZER "Make fuzzers of the targets in fuzz/targets (clang)" OFF)
set(ULPFUZZ_FUZZ_TARGETS parse_case parse_import parse_result parse_specs open_store)

add_executable(fuzz_seeds fuzz/targets/seeds.cc)
target_link_libraries(fuzz_seeds PRIVATE ulpfuzz_fuzz)
set(seeds "${PROJECT_BINARY_DIR}/fuzz-seeds")
if(BUILD_TESTING)
  # A corpus that is missing is no corpus that passes.
  add_test(NAME targets.missing COMMAND fuzz_parse_specs "${seeds}/no such folder")
  set_tests_properties(targets.missing PROPERTIES WILL_FAIL ON LABELS targets)
  add_test(NAME targets.seeds COMMAND fuzz_seeds "${seeds}")
  set_tests_properties(targets.seeds PROPERTIES FIXTURES_SETUP fuzz_seeds LABELS targets)
endif()

add_custom_target(fuzz_targets)
foreach(name IN LISTS ULPFUZZ_FUZZ_TARGETS)
  add_executable(fuzz_${name} fuzz/targets/${name}.cc)
  target_link_libraries(fuzz_${name} PRIVATE ulpfuzz_fuzz ulpfuzz_importers)
  add_dependencies(fuzz_targets fuzz_${name})
  if(ULPFUZZ_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${name} PRIVATE fuzz/targets/replay_main.cc)
    if(BUILD_TESTING)
      add_test(NAME targets.${name} COMMAND fuzz_${name} "${seeds}/${name}"
               "${PROJECT_SOURCE_DIR}/fuzz/targets/corpus/${name}")
      set_tests_properties(targets.${name} PROPERTIES FIXTURES_REQUIRED fuzz_seeds LABELS targets)
    endif()
  endif()
endforeach()
