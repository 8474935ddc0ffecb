#include "textflag.h"

// Each of these kernels multiplies one row with the sixteens of values at b and
// at three strides from it. The row is read once for all four.

// FOLD adds up lo = s0…s3, lo2 = s4…s7, hi = s8…s11 and hi2 = s12…s15 in the
// order of dotPlain, and stores the sum.
#define FOLD(lo, lo2, hi, hi2, low, low2, at) \
	VADDPD hi, lo, lo \
	VADDPD hi2, lo2, lo2 \
	VADDPD lo2, lo, lo \
	VEXTRACTF128 $1, lo, low2 \
	VADDPD low2, low, low \
	VUNPCKHPD low, low, low2 \
	VADDSD low2, low, low \
	MOVSD low, at(DX)

#define ARGUMENTS \
	MOVQ dst+0(FP), DX \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DI \
	MOVQ stride+24(FP), R8 \
	MOVQ sixteens+32(FP), CX \
	SHLQ $3, R8 \
	LEAQ (R8)(R8*2), R9

#define CLEAR512(lo, hi) \
	VPXORQ lo, lo, lo \
	VPXORQ hi, hi, hi

// func dotsAVX512(dst, a, b *float64, stride, sixteens int)
TEXT ·dotsAVX512(SB), NOSPLIT, $0-40
	ARGUMENTS
	CLEAR512(Z0, Z2)
	CLEAR512(Z4, Z6)
	CLEAR512(Z8, Z10)
	CLEAR512(Z12, Z14)

sixteen:
	VMOVUPD (SI), Z16
	VMOVUPD 64(SI), Z17
	VFMADD231PD (DI), Z16, Z0
	VFMADD231PD 64(DI), Z17, Z2
	VFMADD231PD (DI)(R8*1), Z16, Z4
	VFMADD231PD 64(DI)(R8*1), Z17, Z6
	VFMADD231PD (DI)(R8*2), Z16, Z8
	VFMADD231PD 64(DI)(R8*2), Z17, Z10
	VFMADD231PD (DI)(R9*1), Z16, Z12
	VFMADD231PD 64(DI)(R9*1), Z17, Z14
	ADDQ $128, SI
	ADDQ $128, DI
	DECQ CX
	JNZ sixteen
	VEXTRACTF64X4 $1, Z0, Y1
	VEXTRACTF64X4 $1, Z2, Y3
	VEXTRACTF64X4 $1, Z4, Y5
	VEXTRACTF64X4 $1, Z6, Y7
	VEXTRACTF64X4 $1, Z8, Y9
	VEXTRACTF64X4 $1, Z10, Y11
	VEXTRACTF64X4 $1, Z12, Y13
	VEXTRACTF64X4 $1, Z14, Y15
	FOLD(Y0, Y1, Y2, Y3, X0, X1, 0)
	FOLD(Y4, Y5, Y6, Y7, X4, X5, 8)
	FOLD(Y8, Y9, Y10, Y11, X8, X9, 16)
	FOLD(Y12, Y13, Y14, Y15, X12, X13, 24)
	VZEROUPPER
	RET

#define TWO256(at) \
	VMOVUPD at(SI), Y8 \
	VMOVUPD at+32(SI), Y9 \
	VMOVUPD at+64(SI), Y10 \
	VMOVUPD at+96(SI), Y11 \
	VFMADD231PD at(DI), Y8, Y0 \
	VFMADD231PD at+32(DI), Y9, Y1 \
	VFMADD231PD at+64(DI), Y10, Y2 \
	VFMADD231PD at+96(DI), Y11, Y3 \
	VFMADD231PD at(DI)(R8*1), Y8, Y4 \
	VFMADD231PD at+32(DI)(R8*1), Y9, Y5 \
	VFMADD231PD at+64(DI)(R8*1), Y10, Y6 \
	VFMADD231PD at+96(DI)(R8*1), Y11, Y7

#define CLEAR256 \
	VXORPD Y0, Y0, Y0 \
	VXORPD Y1, Y1, Y1 \
	VXORPD Y2, Y2, Y2 \
	VXORPD Y3, Y3, Y3 \
	VXORPD Y4, Y4, Y4 \
	VXORPD Y5, Y5, Y5 \
	VXORPD Y6, Y6, Y6 \
	VXORPD Y7, Y7, Y7

// func dotsAVX2(dst, a, b *float64, stride, sixteens int)
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	ARGUMENTS
	MOVQ $2, R10

two:
	CLEAR256

sixteen:
	TWO256(0)
	ADDQ $128, SI
	ADDQ $128, DI
	DECQ CX
	JNZ sixteen
	FOLD(Y0, Y1, Y2, Y3, X0, X1, 0)
	FOLD(Y4, Y5, Y6, Y7, X4, X5, 8)
	ADDQ $16, DX
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DI
	LEAQ (DI)(R8*2), DI
	MOVQ sixteens+32(FP), CX
	DECQ R10
	JNZ two
	VZEROUPPER
	RET
