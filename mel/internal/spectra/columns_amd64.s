#include "textflag.h"

// QUADS loads four pairs of samples of all eight frames into Y0 to Y3: frames
// 0-3 in the lower halves, frames 4-7 in the upper.
#define QUADS \
	VMOVDQU (SI), X0 \
	VMOVDQU (SI)(R9*1), X1 \
	VMOVDQU (SI)(R9*2), X2 \
	VMOVDQU (SI)(R10*1), X3 \
	VINSERTI128 $1, (R11), Y0, Y0 \
	VINSERTI128 $1, (R11)(R9*1), Y1, Y1 \
	VINSERTI128 $1, (R11)(R9*2), Y2, Y2 \
	VINSERTI128 $1, (R11)(R10*1), Y3, Y3

// TRANSPOSE turns Y0 to Y3 into Y4 to Y7, in each the same pair of samples of
// all eight frames.
#define TRANSPOSE \
	VPUNPCKLDQ Y1, Y0, Y8 \
	VPUNPCKHDQ Y1, Y0, Y9 \
	VPUNPCKLDQ Y3, Y2, Y10 \
	VPUNPCKHDQ Y3, Y2, Y11 \
	VPUNPCKLQDQ Y10, Y8, Y4 \
	VPUNPCKHQDQ Y10, Y8, Y5 \
	VPUNPCKLQDQ Y11, Y9, Y6 \
	VPUNPCKHQDQ Y11, Y9, Y7

// PREVIOUS puts the sample before each frame's into the words of X0.
#define PREVIOUS \
	VPXOR X0, X0, X0 \
	VPINSRW $0, -2(SI), X0, X0 \
	VPINSRW $1, -2(SI)(R9*1), X0, X0 \
	VPINSRW $2, -2(SI)(R9*2), X0, X0 \
	VPINSRW $3, -2(SI)(R10*1), X0, X0 \
	VPINSRW $4, -2(R11), X0, X0 \
	VPINSRW $5, -2(R11)(R9*1), X0, X0 \
	VPINSRW $6, -2(R11)(R9*2), X0, X0 \
	VPINSRW $7, -2(R11)(R10*1), X0, X0 \
	VPMOVSXWD X0, Y0

// SHIFT moves the columns after the block to the front of the row.
#define SHIFT \
	VMOVUPD 64(DI), Y0 \
	VMOVUPD Y0, (DI)

// ROW512 stores a row less emphasis (Z16) times the row before (Z15).
#define ROW512(pair) \
	SHIFT \
	VCVTDQ2PD pair, Z13 \
	VFNMADD213PD Z13, Z16, Z15 \
	VMOVUPD Z15, (DI)(R12*1) \
	VMOVAPD Z13, Z15 \
	ADDQ R8, DI

#define PAIR512(pair) \
	VPSLLD $16, pair, Y14 \
	VPSRAD $16, pair, pair \
	VPSRAD $16, Y14, Y14 \
	ROW512(Y14) \
	ROW512(pair)

// ROW256 is ROW512 with the emphasis in Y15 and the row before in Y12 and Y13.
#define ROW256(half, pair) \
	SHIFT \
	VCVTDQ2PD half, Y1 \
	VEXTRACTI128 $1, pair, half \
	VCVTDQ2PD half, Y2 \
	VFNMADD213PD Y1, Y15, Y12 \
	VFNMADD213PD Y2, Y15, Y13 \
	VMOVUPD Y12, (DI)(R12*1) \
	VMOVUPD Y13, 32(DI)(R12*1) \
	VMOVAPD Y1, Y12 \
	VMOVAPD Y2, Y13 \
	ADDQ R8, DI

#define PAIR256(half, pair) \
	VPSLLD $16, pair, Y14 \
	VPSRAD $16, pair, pair \
	VPSRAD $16, Y14, Y14 \
	ROW256(X14, Y14) \
	ROW256(half, pair)

#define ARGUMENTS \
	MOVQ tile+0(FP), DI \
	MOVQ src+8(FP), SI \
	MOVQ hop+16(FP), R9 \
	MOVQ extra+24(FP), R12 \
	MOVQ R9, CX \
	SHRQ $3, CX \
	SHLQ $1, R9 \
	LEAQ (R9)(R9*2), R10 \
	LEAQ (SI)(R9*4), R11 \
	SHLQ $3, R12 \
	LEAQ 64(R12), R8

// func columnsAVX512(tile *float64, src *int16, hop, extra int, emphasis float64)
TEXT ·columnsAVX512(SB), NOSPLIT, $0-40
	ARGUMENTS
	PREVIOUS
	VCVTDQ2PD Y0, Z15
	VBROADCASTSD emphasis+32(FP), Z16

eight:
	QUADS
	TRANSPOSE
	PAIR512(Y4)
	PAIR512(Y5)
	PAIR512(Y6)
	PAIR512(Y7)
	ADDQ $16, SI
	ADDQ $16, R11
	DECQ CX
	JNZ eight
	VZEROUPPER
	RET

// func columnsAVX2(tile *float64, src *int16, hop, extra int, emphasis float64)
TEXT ·columnsAVX2(SB), NOSPLIT, $0-40
	ARGUMENTS
	PREVIOUS
	VCVTDQ2PD X0, Y12
	VEXTRACTI128 $1, Y0, X0
	VCVTDQ2PD X0, Y13
	VBROADCASTSD emphasis+32(FP), Y15

eight:
	QUADS
	TRANSPOSE
	PAIR256(X4, Y4)
	PAIR256(X5, Y5)
	PAIR256(X6, Y6)
	PAIR256(X7, Y7)
	ADDQ $16, SI
	ADDQ $16, R11
	DECQ CX
	JNZ eight
	VZEROUPPER
	RET
