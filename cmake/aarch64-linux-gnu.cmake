# Cross-build for aarch64 (Graviton) on Debian or Ubuntu: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross.
# With qemu-user present, ctest runs the programs under it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(STRETTO_QEMU qemu-aarch64)
if(STRETTO_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${STRETTO_QEMU} -L /usr/aarch64-linux-gnu)
endif()
