# Our own parsers under libFuzzer: fuzz/targets/NAME.cc becomes fuzz_NAME. With ULPFUZZ_LIBFUZZER (clang;
# the preset `libfuzzer`) it is a fuzzer; else it replays files, and a test runs it on its seeds.
option(ULPFUZZ_LIBFUZZER "Make fuzzers of the targets in fuzz/targets (clang)" OFF)
set(ULPFUZZ_FUZZ_TARGETS parse_case parse_import parse_result parse_specs open_store)
# The rooms of each. libFuzzer looks at every counter after every execution, so none has more.
set(rooms_parse_case ulpfuzz_ops)
set(rooms_parse_import ulpfuzz_importers)
set(rooms_parse_result ulpfuzz_systems)
set(rooms_parse_specs ulpfuzz_systems)
set(rooms_open_store ulpfuzz_fuzz)

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
  target_link_libraries(fuzz_${name} PRIVATE ${rooms_${name}})
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

# Programs whose values are fuzzed, and whole cases. Each needs clang's runtime alone, whichever compiler builds the
# rest; without that it is replay_NAME, which replays files, so that what looks for a fuzzer finds none.
option(ULPFUZZ_FUZZERS "Link clang's libFuzzer into fuzz_kernel, fuzz_operator, fuzz_case" ON)
find_program(ULPFUZZ_CLANG NAMES clang++ clang++-14 clang++-18 clang++-19)
set(runtime "")
if(ULPFUZZ_FUZZERS AND ULPFUZZ_CLANG)
  execute_process(COMMAND "${ULPFUZZ_CLANG}" -print-file-name=libclang_rt.fuzzer-x86_64.a
                  OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS "${runtime}")
    execute_process(COMMAND "${ULPFUZZ_CLANG}" -print-resource-dir
                    OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(runtime "${resources}/lib/linux/libclang_rt.fuzzer-x86_64.a")
  endif()
endif()

# fuzz_NAME, with the given archives of clang's runtime before libFuzzer's own.
function(link_fuzzer name)
  if(EXISTS "${runtime}")
    target_link_options(fuzz_${name} PRIVATE "LINKER:--whole-archive" ${ARGN} "${runtime}"
                        "LINKER:--no-whole-archive")
    target_link_libraries(fuzz_${name} PRIVATE Threads::Threads rt m ${CMAKE_DL_LIBS})
  else()
    target_sources(fuzz_${name} PRIVATE fuzz/targets/replay_main.cc)
    set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME replay_${name})
  endif()
endfunction()

# What Inductor generated. The kernels are compiled with coverage and sanitizers when they are known
# and loaded at run time; this program is not, so that only they guide the fuzzer.
add_executable(fuzz_kernel fuzz/targets/kernel.cc fuzz/targets/value_target.cc)
target_link_libraries(fuzz_kernel PRIVATE ulpfuzz_kernels)
set_target_properties(fuzz_kernel PROPERTIES ENABLE_EXPORTS ON)
string(REPLACE "fuzzer" "asan" asan "${runtime}")
string(REPLACE "fuzzer" "asan_cxx" asan_cxx "${runtime}")
link_fuzzer(kernel "${asan}" "${asan_cxx}")
if(EXISTS "${runtime}")
  target_link_options(fuzz_kernel PRIVATE "LINKER:--dynamic-list=${asan}.syms")
endif()

# An operator of LibTorch's, which has neither coverage nor sanitizers.
if(TARGET ulpfuzz_libtorch)
  add_executable(fuzz_operator fuzz/targets/operator.cc fuzz/targets/value_target.cc)
  target_link_libraries(fuzz_operator PRIVATE ulpfuzz_kernels ulpfuzz_libtorch)
  link_fuzzer(operator)
endif()

# Whole cases, run by workers.
add_executable(fuzz_case fuzz/targets/case.cc)
target_link_libraries(fuzz_case PRIVATE ulpfuzz_fuzz)
link_fuzzer(case)
