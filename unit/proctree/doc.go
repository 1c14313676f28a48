// Package proctree attributes processes to programs, and ends all processes of
// a program.
//
// A component is a process tree, not a pid: a descendant of a program may leave
// its process group and its session, lose its parent, its environment and its
// user, and still belongs to the program. No single mark survives all of that
// without privileges, so several are combined:
//
//   - The soft RLIMIT_RTTIME, set on this process around a fork. It limits the
//     microseconds that a real-time process may run without sleeping, so it has
//     no effect on an ordinary one. Every descendant inherits it, and anyone may
//     read it in /proc/PID/limits, even of a zombie. Its value is 2^50 + B·2^20
//   - the program's number, where B is 20 bits drawn when the unit starts, so
//     that marks of other units and of earlier boots are not taken for ours.
//   - The environment: TOSKOSE_COMPONENT and TOSKOSE_OPERATION for people, and
//     TOSKOSE_MARK with the same number as above, since names alone could have
//     been inherited from elsewhere.
//   - Bits 6 to 8 of /proc/PID/coredump_filter, set around a fork, too: whether core
//     dumps have shared huge pages and DAX pages. They survive what resets the limit
//     and the environment (su, runuser, sudo), but have room for three components
//     only, so they are asked where the two above are silent, and where more
//     components share a value, it claims nothing. Where one contradicts the limit,
//     the limit is not believed: PAM copies that of process 1, also while this
//     process forks and has a mark itself.
//   - Parents, sessions and process groups that were known before.
//   - A cgroup (v2) for each component, where this process may make some. No process
//     leaves it without privileges, so it outweighs all marks.
//
// A process can copy the marks of another component. A mark is believed only where it can
// be true: the programs of the component have or had a user of the process, and neither a
// parent nor a session that is known belongs to another component.
//
// A process that none of them claims is [Unclaimed]: shown, never hidden.
//
// The package starts no goroutine. A [Tree] is safe for concurrent use;
// [Tree.End] and [Tree.WaitGone] block their caller and are woken by the kernel
// when a process ends, without polling.
package proctree
