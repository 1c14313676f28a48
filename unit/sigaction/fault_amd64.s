#include "textflag.h"

// A handler of signals: func(signal int32, info *siginfo_t, context *ucontext_t),
// called as C calls. si_code is above 0 only in what the kernel itself has sent.
TEXT ·guard(SB), NOSPLIT|NOFRAME, $0-0
	CMPL 8(SI), $0
	JGT  fault
	RET

fault:
	MOVQ ·runtimePC(SB), AX
	JMP  AX

DATA ·guardPC+0(SB)/8, $·guard(SB)
GLOBL ·guardPC(SB), RODATA, $8
