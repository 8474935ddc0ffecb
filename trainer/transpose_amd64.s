#include "textflag.h"

// Both kernels take tiles of 16 frames by 8 mels. Registers:
//   DI, R8   first row of the tile in dst, bytes from row to row
//   SI, R9   first frame of the tile in src, bytes from frame to frame
//   R11      3·R9
//   R10, R12, R13  frames 8, 4 and 12
//   BX       what to fetch of the 16 frames after these
//   CX       tiles that are left

// TILEBYTES are those of a tile in src.
#define TILEBYTES 256

// TILE leaves mel k of the 16 frames in Y(8+k). Frames 0 to 7 are in the low
// halves of the registers and 8 to 15 in the high ones, and both halves are
// transposed at once: words, then pairs of words, then fours. It begins with
// fetching its share of the frames that come after these: a clip is rarely in the
// cache, and waiting for it was most of the time.
#define TILE \
	PREFETCHT0 (BX) \
	PREFETCHT0 64(BX) \
	PREFETCHT0 128(BX) \
	PREFETCHT0 192(BX) \
	ADDQ $TILEBYTES, BX \
	LEAQ (SI)(R9*8), R10 \
	LEAQ (SI)(R9*4), R12 \
	LEAQ (R10)(R9*4), R13 \
	VMOVDQU (SI), X0 \
	VMOVDQU (SI)(R9*1), X1 \
	VMOVDQU (SI)(R9*2), X2 \
	VMOVDQU (SI)(R11*1), X3 \
	VMOVDQU (R12), X4 \
	VMOVDQU (R12)(R9*1), X5 \
	VMOVDQU (R12)(R9*2), X6 \
	VMOVDQU (R12)(R11*1), X7 \
	VINSERTI128 $1, (R10), Y0, Y0 \
	VINSERTI128 $1, (R10)(R9*1), Y1, Y1 \
	VINSERTI128 $1, (R10)(R9*2), Y2, Y2 \
	VINSERTI128 $1, (R10)(R11*1), Y3, Y3 \
	VINSERTI128 $1, (R13), Y4, Y4 \
	VINSERTI128 $1, (R13)(R9*1), Y5, Y5 \
	VINSERTI128 $1, (R13)(R9*2), Y6, Y6 \
	VINSERTI128 $1, (R13)(R11*1), Y7, Y7 \
	VPUNPCKLWD Y1, Y0, Y8 \
	VPUNPCKHWD Y1, Y0, Y9 \
	VPUNPCKLWD Y3, Y2, Y10 \
	VPUNPCKHWD Y3, Y2, Y11 \
	VPUNPCKLWD Y5, Y4, Y12 \
	VPUNPCKHWD Y5, Y4, Y13 \
	VPUNPCKLWD Y7, Y6, Y14 \
	VPUNPCKHWD Y7, Y6, Y15 \
	VPUNPCKLDQ Y10, Y8, Y0 \
	VPUNPCKHDQ Y10, Y8, Y1 \
	VPUNPCKLDQ Y11, Y9, Y2 \
	VPUNPCKHDQ Y11, Y9, Y3 \
	VPUNPCKLDQ Y14, Y12, Y4 \
	VPUNPCKHDQ Y14, Y12, Y5 \
	VPUNPCKLDQ Y15, Y13, Y6 \
	VPUNPCKHDQ Y15, Y13, Y7 \
	VPUNPCKLQDQ Y4, Y0, Y8 \
	VPUNPCKHQDQ Y4, Y0, Y9 \
	VPUNPCKLQDQ Y5, Y1, Y10 \
	VPUNPCKHQDQ Y5, Y1, Y11 \
	VPUNPCKLQDQ Y6, Y2, Y12 \
	VPUNPCKHQDQ Y6, Y2, Y13 \
	VPUNPCKLQDQ Y7, Y3, Y14 \
	VPUNPCKHQDQ Y7, Y3, Y15

// The rows are too many streams for the processor to see that they go on, so
// what comes next in each is fetched by hand: without that a batch that is not in
// the cache takes twice as long.
#define AHEADHALF 96
#define AHEADFLOAT 128

// STORE writes the 16 values of a row and goes to the next.
#define STORE(Y) \
	VMOVDQU Y, (DI) \
	PREFETCHT0 AHEADHALF(DI) \
	ADDQ R8, DI

// WIDEN does the same in float32.
#define WIDEN(Y, X) \
	VCVTPH2PS X, Y0 \
	VEXTRACTI128 $1, Y, X1 \
	VCVTPH2PS X1, Y1 \
	VMOVUPS Y0, (DI) \
	VMOVUPS Y1, 32(DI) \
	PREFETCHT0 AHEADFLOAT(DI) \
	ADDQ R8, DI

// func tilesHalf(dst *uint16, stride int, src *uint16, step, tiles int)
TEXT ·tilesHalf(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ stride+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ step+24(FP), R9
	MOVQ tiles+32(FP), CX
	LEAQ (R9)(R9*2), R11
	MOVQ R9, BX
	SHLQ $4, BX
	ADDQ SI, BX

half:
	TILE
	STORE(Y8)
	STORE(Y9)
	STORE(Y10)
	STORE(Y11)
	STORE(Y12)
	STORE(Y13)
	STORE(Y14)
	STORE(Y15)
	ADDQ $16, SI
	DECQ CX
	JNZ  half
	VZEROUPPER
	RET

// func tilesFloat(dst *float32, stride int, src *uint16, step, tiles int)
TEXT ·tilesFloat(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ stride+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ step+24(FP), R9
	MOVQ tiles+32(FP), CX
	LEAQ (R9)(R9*2), R11
	MOVQ R9, BX
	SHLQ $4, BX
	ADDQ SI, BX

float:
	TILE
	WIDEN(Y8, X8)
	WIDEN(Y9, X9)
	WIDEN(Y10, X10)
	WIDEN(Y11, X11)
	WIDEN(Y12, X12)
	WIDEN(Y13, X13)
	WIDEN(Y14, X14)
	WIDEN(Y15, X15)
	ADDQ $16, SI
	DECQ CX
	JNZ  float
	VZEROUPPER
	RET

// func widenBlocks(dst *float32, src *uint16, blocks int)
TEXT ·widenBlocks(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX

block:
	VCVTPH2PS (SI), Y0
	VMOVUPS Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET
