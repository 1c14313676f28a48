// Package proctree knows whose a process is, and ends what belongs together.
//
// A component is a process tree, not a pid: what a program forks may leave its
// process group and its session, lose its parent, its environment and its
// user, and is still the program's. No single mark survives all of that
// without privileges, so three are combined (DESIGN, decision 5):
//
//   - The soft RLIMIT_RTTIME, set on this process around a fork. It counts the
//     microseconds that a real-time process may run without sleeping, so it
//     means nothing to an ordinary one; every descendant inherits it, and
//     /proc/PID/limits shows it to everyone, of a zombie too. As a number it
//     is 2^50 + B·2^20 + the program's number, where B are 20 bits drawn when
//     the unit starts, so that a mark of another unit or of an earlier boot is
//     none of ours.
//   - The environment: TOSKOSE_COMPONENT and TOSKOSE_OPERATION for people, and
//     TOSKOSE_MARK with the same number as above, since names alone could have
//     been inherited from elsewhere.
//   - Parents, sessions and process groups that were known before.
//
// A process that none of them claims is [Unclaimed]: shown, never hidden.
//
// The package starts no goroutine. A [Tree] may be used by several at once;
// what waits ([Tree.End], [Tree.WaitGone]) waits in its caller, on the kernel's
// word that a process ended and not by looking again and again.
package proctree
