#include "textflag.h"

// func sumsAVX2(high, low *[sumsUnit]int16, energies *[4]int64, samples *int16, units int)
TEXT ·sumsAVX2(SB), NOSPLIT, $0-40
	MOVQ high+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ energies+16(FP), DX
	MOVQ samples+24(FP), BX
	MOVQ units+32(FP), CX
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y7, Y7, Y7

unit:
	VMOVDQU (BX), Y0
	VPMAXSW Y0, Y1, Y1
	VPMINSW Y0, Y2, Y2
	// Two squares make at most 2^31: a double word without a sign, of which the
	// even and the odd ones are widened apart.
	VPMADDWD Y0, Y0, Y0
	VPSRLQ $32, Y0, Y5
	VPBLENDD $0xaa, Y7, Y0, Y6
	VPADDQ Y5, Y3, Y3
	VPADDQ Y6, Y4, Y4
	ADDQ $32, BX
	DECQ CX
	JNZ unit
	VPADDQ Y4, Y3, Y3
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, (SI)
	VMOVDQU Y3, (DX)
	VZEROUPPER
	RET
