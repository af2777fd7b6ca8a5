#!/bin/bash
# compile variants here and run them
cd "$(dirname "$0")"; mkdir -p /tmp/t; nvcc --version | tail -2; rm -f /tmp/t/*
n=0
go() { local name=$1; shift; ( nvcc -std=c++20 -arch=sm_90 --fmad=false -w "$@" -o /tmp/t/$name 2>/tmp/t/$name.err || head -3 /tmp/t/$name.err ) & n=$((n+1)); (( n % 16 == 0 )) && wait; }
go v1_bytes -O3 -DLOADER=0 trap1.cu
go v1_words -O3 trap1.cu
go v1_words_int -O3 -DRING_T=int trap1.cu
go v1_words_arcvar -O3 -DCONST_ARC=0 trap1.cu
for t in 0 1; do for p in 0 1; do for a in 9 12; do for o in 0 1 2 3; do
 go v2_test${t}_pack${p}_arc${a}_ptxasO$o -O3 -Xptxas -O$o -DWITH_TEST=$t -DPACK=$p -DARC=$a trap2.cu
done; done; done; done
go v2_int -O3 -DRING_T=int trap2.cu
go v2_arc10 -O3 -DARC=10 trap2.cu
go v2_arc11 -O3 -DARC=11 trap2.cu
go v2_fence -O3 -DFENCE=1 trap2.cu
wait
# other real architecture through PTX JIT by the driver
nvcc -std=c++20 -w -gencode arch=compute_90,code=compute_90 -O3 -o /tmp/t/v2_jit trap2.cu
nvcc -std=c++20 -w -gencode arch=compute_80,code=compute_80 -O3 -o /tmp/t/v2_jit80 trap2.cu
for x in /tmp/t/v*; do [ -x $x ] && [[ $x != *.err ]] && timeout 20 $x; done
