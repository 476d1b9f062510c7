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

# What Inductor generated, under libFuzzer: fuzz/targets/kernel.cc. The kernels are compiled with
# coverage and sanitizers when they are known and loaded at run time; this program is not, so that only
# they guide the fuzzer. It needs clang's runtime alone, whichever compiler builds the rest; without
# that it is replay_kernel, which replays files.
option(ULPFUZZ_KERNEL_FUZZER "Link clang's libFuzzer and AddressSanitizer into fuzz_kernel" ON)
find_program(ULPFUZZ_CLANG NAMES clang++ clang++-14 clang++-18 clang++-19)
add_executable(fuzz_kernel fuzz/targets/kernel.cc)
target_link_libraries(fuzz_kernel PRIVATE ulpfuzz_kernels)
set_target_properties(fuzz_kernel PROPERTIES ENABLE_EXPORTS ON)
set(runtime "")
if(ULPFUZZ_KERNEL_FUZZER AND ULPFUZZ_CLANG)
  execute_process(COMMAND "${ULPFUZZ_CLANG}" -print-file-name=libclang_rt.fuzzer-x86_64.a
                  OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS "${runtime}")
    execute_process(COMMAND "${ULPFUZZ_CLANG}" -print-resource-dir
                    OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(runtime "${resources}/lib/linux/libclang_rt.fuzzer-x86_64.a")
  endif()
endif()
if(EXISTS "${runtime}")
  get_filename_component(folder "${runtime}" DIRECTORY)
  string(REPLACE "fuzzer" "asan" asan "${runtime}")
  string(REPLACE "fuzzer" "asan_cxx" asan_cxx "${runtime}")
  target_link_options(
    fuzz_kernel
    PRIVATE
    "LINKER:--whole-archive" "${asan}" "${asan_cxx}" "${runtime}" "LINKER:--no-whole-archive"
    "LINKER:--dynamic-list=${asan}.syms")
  target_link_libraries(fuzz_kernel PRIVATE Threads::Threads rt m ${CMAKE_DL_LIBS})
else()
  # Under another name: what looks for a fuzzer finds none.
  target_sources(fuzz_kernel PRIVATE fuzz/targets/replay_main.cc)
  set_target_properties(fuzz_kernel PROPERTIES OUTPUT_NAME replay_kernel)
endif()
