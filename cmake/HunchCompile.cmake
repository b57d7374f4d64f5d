# Compiler settings, in one interface target; no global flags.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_program(HUNCH_CCACHE ccache)
if(HUNCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HUNCH_CCACHE})
endif()

add_library(hunch_compile INTERFACE)
target_compile_features(hunch_compile INTERFACE cxx_std_20)
target_compile_options(hunch_compile INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;\
-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wimplicit-fallthrough;-Wno-psabi>")
# GCC 12 sees overlapping copies in sums of strings that have none (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(hunch_compile INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
endif()
# CMake 3.25 does not know which standards CUDA 13 has, so the flag is given by hand.
target_compile_options(hunch_compile INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-Xcompiler=-Wall;\
-Xcompiler=-Wextra;--expt-relaxed-constexpr;-Wno-deprecated-gpu-targets>")
if(HUNCH_SANITIZE)
  target_compile_options(hunch_compile INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${HUNCH_SANITIZE};\
-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  target_link_options(hunch_compile INTERFACE -fsanitize=${HUNCH_SANITIZE})
endif()
