# ulpfuzz-libtorch: the worker that links LibTorch, so that the core never does.
#
# With ULPFUZZ_CUDA it also runs CUDA systems and reports facts of the devices. It is then built
# with the toolkit's nvcc, and starts on a machine without a driver all the same.

file(GLOB worker_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/systems/libtorch/*.cc")
find_package(LibTorch)
if(NOT worker_sources OR NOT LibTorch_FOUND)
  return()
endif()

# What runs LibTorch is a library, for other processes that are nothing but a test of it
# (fuzz/targets/operator.cc); main.cc alone makes it the worker.
set(worker ulpfuzz-libtorch)
set(worker_main "${PROJECT_SOURCE_DIR}/systems/libtorch/main.cc")
list(REMOVE_ITEM worker_sources "${worker_main}")
add_library(ulpfuzz_libtorch STATIC ${worker_sources})
# For executables alone, whose precompiled header is this one's.
set_target_properties(ulpfuzz_libtorch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(ulpfuzz_libtorch PRIVATE -fPIE)
target_link_libraries(ulpfuzz_libtorch PUBLIC ulpfuzz_options LibTorch::torch_cpu LibTorch::c10)
# torch's include folder holds a fmt of its own, newer than the system's library, and comes first.
# Header-only, the worker uses that one; the rooms keep the library. fmt's versions are namespaces.
# NDEBUG as in torch's own build: at::RecordFunction has a member more without it.
target_compile_definitions(ulpfuzz_libtorch PRIVATE FMT_HEADER_ONLY=1 NDEBUG)
foreach(room ir systems)
  if(TARGET ulpfuzz_${room})
    target_link_libraries(ulpfuzz_libtorch PUBLIC ulpfuzz_${room})
  endif()
endforeach()
add_executable(${worker} "${worker_main}")
target_link_libraries(${worker} PRIVATE ulpfuzz_libtorch)
target_compile_definitions(${worker} PRIVATE FMT_HEADER_ONLY=1 NDEBUG)

target_precompile_headers(ulpfuzz_libtorch PRIVATE "${PROJECT_SOURCE_DIR}/systems/libtorch/pch.h")
target_precompile_headers(${worker} REUSE_FROM ulpfuzz_libtorch)
foreach(target ulpfuzz_libtorch ${worker})
  # Without it ccache cannot see macros through a precompiled header of GCC's.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endforeach()

# cuDNN: the wheel's own before the toolkit's. libtorch_cuda.so needs libcudnn.so.9 too, a process
# holds one library of that name, and the sub-libraries that it opens must be of its exact version;
# so the one to ask is the one that torch was tested with. The toolkit's serves a torch whose
# package brings none.
find_program(ULPFUZZ_NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
if(LibTorch_CUDNN_LIBRARY)
  set(cudnn_include "${LibTorch_CUDNN_INCLUDE_DIR}")
  set(cudnn_library "${LibTorch_CUDNN_LIBRARY}")
else()
  find_path(ULPFUZZ_CUDNN_INCLUDE_DIR cudnn.h PATHS /usr/local/cuda/include)
  find_library(ULPFUZZ_CUDNN_LIBRARY cudnn PATHS /usr/local/cuda/lib64)
  set(cudnn_include "${ULPFUZZ_CUDNN_INCLUDE_DIR}")
  set(cudnn_library "${ULPFUZZ_CUDNN_LIBRARY}")
endif()

if(ULPFUZZ_NVCC AND cudnn_include AND cudnn_library AND TARGET LibTorch::torch_cuda)
  set(cuda_found ON)
else()
  set(cuda_found OFF)
endif()
option(ULPFUZZ_CUDA "Build the worker with CUDA and cuDNN" ${cuda_found})
if(NOT ULPFUZZ_CUDA)
  return()
elseif(NOT cuda_found)
  message(FATAL_ERROR "ULPFUZZ_CUDA wants nvcc, cuDNN and a CUDA build of torch")
endif()

set(CMAKE_CUDA_COMPILER "${ULPFUZZ_NVCC}")
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real)
endif()
if(CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

add_library(ulpfuzz_cuda STATIC systems/libtorch/cuda/device_info.cu
                                systems/libtorch/cuda/cudnn_info.cc)
set_target_properties(ulpfuzz_cuda PROPERTIES CUDA_STANDARD 17) # CMake 3.25 knows no CUDA 20
target_include_directories(ulpfuzz_cuda SYSTEM PRIVATE "${cudnn_include}")
target_link_libraries(ulpfuzz_cuda PRIVATE ulpfuzz_options CUDA::cudart_static "${cudnn_library}")

# The runtime is linked statically and its symbols are kept inside, so that they neither stand in
# for those of the wheel's libcudart.so nor depend on its version. Both runtimes share the driver's
# primary context. torch_cuda registers its kernels when it is loaded, hence --no-as-needed.
foreach(target ulpfuzz_libtorch ${worker})
  target_compile_definitions(${target} PRIVATE ULPFUZZ_CUDA=1)
endforeach()
target_link_libraries(ulpfuzz_libtorch PUBLIC ulpfuzz_cuda LibTorch::torch_cuda LibTorch::c10_cuda)
target_link_options(ulpfuzz_libtorch INTERFACE -Wl,--no-as-needed -Wl,--exclude-libs,libcudart_static.a)
set_target_properties(${worker} PROPERTIES LINKER_LANGUAGE CXX)
get_filename_component(cudnn_folder "${cudnn_library}" DIRECTORY)
set_property(TARGET ${worker} APPEND PROPERTY BUILD_RPATH "${cudnn_folder}")
