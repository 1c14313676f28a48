//go:build amd64 || arm64

package sigaction

// guardPC is where the handler of fault_ARCH.s is; runtimePC is the runtime's,
// where that passes faults on to.
var guardPC, runtimePC uintptr

// IgnoreSentFaults keeps a process from ending the unit by a signal that means a
// fault. PID 1 has no default action for a signal that is sent to it, but the
// runtime, which turns faults into panics, takes what was sent for a fault. So a
// handler comes before its own, which ignores what a process has sent.
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
