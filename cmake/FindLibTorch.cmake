# LibTorch as imported targets from a PyTorch wheel, without the wheel's own find_package(Torch),
# which wants a CUDA toolkit at configure time and fails its architecture probe under C++20.
#
#   ULPFUZZ_PYTHON     the interpreter whose torch is meant (default: .venv/bin/python)
#
#   LibTorch::c10      LibTorch::torch_cpu      LibTorch::torch       CPU, the usual one to link
#   LibTorch::c10_cuda LibTorch::torch_cuda                           where the wheel is a CUDA build
#
#   LibTorch_VERSION   2.11.0+cu130             LibTorch_ROOT_DIR     .../site-packages/torch
#   LibTorch_CUDNN_INCLUDE_DIR, LibTorch_CUDNN_LIBRARY                the cuDNN that torch loads

set(ULPFUZZ_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python"
    CACHE FILEPATH "Interpreter whose torch package the LibTorch worker is built against")

set(LibTorch_ROOT_DIR)
set(LibTorch_VERSION)
if(EXISTS "${ULPFUZZ_PYTHON}")
  # find_spec looks torch up without importing it, which would cost seconds.
  execute_process(
    COMMAND "${ULPFUZZ_PYTHON}" -c
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE LibTorch_ROOT_DIR
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

if(LibTorch_ROOT_DIR)
  file(STRINGS "${LibTorch_ROOT_DIR}/version.py" _line REGEX "^__version__")
  string(REGEX REPLACE ".*['\"]([^'\"]+)['\"].*" "\\1" LibTorch_VERSION "${_line}")

  # Wheels before 2.7 were built with the old std::string; each says which in its own config.
  set(_abi 1)
  set(_config "${LibTorch_ROOT_DIR}/share/cmake/Torch/TorchConfig.cmake")
  if(EXISTS "${_config}")
    file(STRINGS "${_config}" _line REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
    if(_line MATCHES "_GLIBCXX_USE_CXX11_ABI=([01])")
      set(_abi ${CMAKE_MATCH_1})
    endif()
  endif()

  get_filename_component(_site "${LibTorch_ROOT_DIR}" DIRECTORY)
  file(GLOB _cudnn "${_site}/nvidia/cudnn/lib/libcudnn.so.*")
  if(_cudnn AND EXISTS "${_site}/nvidia/cudnn/include/cudnn.h")
    set(LibTorch_CUDNN_LIBRARY "${_cudnn}")
    set(LibTorch_CUDNN_INCLUDE_DIR "${_site}/nvidia/cudnn/include")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_ROOT_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "no torch under ULPFUZZ_PYTHON=${ULPFUZZ_PYTHON} (make setup installs one)")

# An imported target's absolute path puts the library's folder on the build's RPATH by itself; the
# wheel's libraries find the nvidia packages beside them by their own.
function(_libtorch_import name)
  set(location "${LibTorch_ROOT_DIR}/lib/lib${name}.so")
  if(TARGET LibTorch::${name} OR NOT EXISTS "${location}")
    return()
  endif()
  add_library(LibTorch::${name} SHARED IMPORTED)
  set_target_properties(
    LibTorch::${name}
    PROPERTIES IMPORTED_LOCATION "${location}"
               IMPORTED_NO_SONAME OFF
               INTERFACE_INCLUDE_DIRECTORIES
               "${LibTorch_ROOT_DIR}/include;${LibTorch_ROOT_DIR}/include/torch/csrc/api/include"
               INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=${_abi}"
               INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

if(LibTorch_FOUND)
  # Allow what the wheel's libraries leave to their own RPATH (libcudart, libcupti).
  set(_shlib_undefined "-Wl,--allow-shlib-undefined")
  _libtorch_import(c10 ${_shlib_undefined})
  _libtorch_import(torch_cpu LibTorch::c10)
  _libtorch_import(torch LibTorch::torch_cpu LibTorch::c10)
  _libtorch_import(c10_cuda LibTorch::c10)
  _libtorch_import(torch_cuda LibTorch::c10_cuda LibTorch::torch_cpu)
endif()
