#include "textflag.h"

// func rootsAVX512(work *float64, vectors int, bias float64)
TEXT ·rootsAVX512(SB), NOSPLIT, $0-24
	MOVQ work+0(FP), DI
	MOVQ vectors+8(FP), CX
	VBROADCASTSD bias+16(FP), Z1

vector:
	VADDPD (DI), Z1, Z0
	VSQRTPD Z0, Z0
	VMOVUPD Z0, (DI)
	ADDQ $128, DI
	DECQ CX
	JNZ vector
	VZEROUPPER
	RET

// func rootsAVX2(work *float64, vectors int, bias float64)
TEXT ·rootsAVX2(SB), NOSPLIT, $0-24
	MOVQ work+0(FP), DI
	MOVQ vectors+8(FP), CX
	VBROADCASTSD bias+16(FP), Y1

vector:
	VADDPD (DI), Y1, Y0
	VADDPD 32(DI), Y1, Y2
	VSQRTPD Y0, Y0
	VSQRTPD Y2, Y2
	VMOVUPD Y0, (DI)
	VMOVUPD Y2, 32(DI)
	ADDQ $128, DI
	DECQ CX
	JNZ vector
	VZEROUPPER
	RET
