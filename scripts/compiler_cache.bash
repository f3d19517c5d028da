# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# compiler_cache.bash - compilers are called through ccache, where it is installed and nobody has said otherwise.
#
# Sourced by build and test, in the folder of the sources. What one checkout has compiled another one finds: paths below the checkout are not part
# of what is compared. What an object depends on is taken from the compiler's own list (CCACHE_DEPEND): else each file that is not in the cache yet is
# preprocessed once more, which takes a fifth of compiling it.
if command -v ccache >/dev/null && [ -z "${CMAKE_C_COMPILER_LAUNCHER+set}" ]; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
fi
