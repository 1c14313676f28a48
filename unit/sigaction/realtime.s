#include "textflag.h"

// A handler of signals that does nothing: the kernel has seen to it that what
// it returns to ends the handling.
TEXT ·ignore(SB), NOSPLIT|NOFRAME, $0-0
	RET

#ifdef GOARCH_arm
DATA ·ignorePC+0(SB)/4, $·ignore(SB)
GLOBL ·ignorePC(SB), RODATA, $4
#else
DATA ·ignorePC+0(SB)/8, $·ignore(SB)
GLOBL ·ignorePC(SB), RODATA, $8
#endif
