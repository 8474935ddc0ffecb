#include "textflag.h"

// Twelve independent chains hide the latency of a fused multiplication.

#define TWELVE(a, b, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11) \
	VFMADD231PD a, b, r0 \
	VFMADD231PD a, b, r1 \
	VFMADD231PD a, b, r2 \
	VFMADD231PD a, b, r3 \
	VFMADD231PD a, b, r4 \
	VFMADD231PD a, b, r5 \
	VFMADD231PD a, b, r6 \
	VFMADD231PD a, b, r7 \
	VFMADD231PD a, b, r8 \
	VFMADD231PD a, b, r9 \
	VFMADD231PD a, b, r10 \
	VFMADD231PD a, b, r11

// func fused512(rounds int)
TEXT ·fused512(SB), NOSPLIT, $0-8
	MOVQ rounds+0(FP), CX
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15

loop:
	TWELVE(Z14, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11)
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func fused256(rounds int)
TEXT ·fused256(SB), NOSPLIT, $0-8
	MOVQ rounds+0(FP), CX
	VXORPD Y14, Y14, Y14
	VXORPD Y15, Y15, Y15

loop:
	TWELVE(Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11)
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
