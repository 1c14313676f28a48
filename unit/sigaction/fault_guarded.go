//go:build amd64 || arm64

package sigaction

// guardPC is the handler in fault_ARCH.s; runtimePC is the runtime's handler, to which it passes
// real faults.
var guardPC, runtimePC uintptr

// IgnoreSentFaults makes the unit ignore fault signals that another process has sent. PID 1 has no
// default action for a signal that is sent to it, but the runtime, which turns faults into panics,
// would treat a sent signal as a fault. So our handler is installed in front of the runtime's.
func IgnoreSentFaults() error {
	for _, sig := range faultSignals {
		now, err := Get(sig)
		if err != nil {
			return err
		}
		if now.handler <= ignored || now.handler == guardPC || (runtimePC != 0 && now.handler != runtimePC) {
			continue
		}
		runtimePC, now.handler = now.handler, guardPC
		if err := Set(sig, now); err != nil {
			return err
		}
	}
	return nil
}
