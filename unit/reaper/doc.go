// Package reaper is the only place that waits for processes. It forks the
// unit's children, reaps them and every orphan that the unit adopted, as PID 1
// or as a subreaper, and tells how each of them ended.
//
// One goroutine, which [Reaper.Run] starts, does all the reaping. It sleeps in
// waitid(2) until a child is dead and, while there is no child, until SIGCHLD
// says that one was adopted and has died. The callbacks of [Options] run on it; [Reaper.Start] and the methods of [Child] may be called
// from any goroutine, also from those callbacks.
//
// Nothing else in the process may wait for children: neither os/exec nor
// os.StartProcess may be used beside it, since each of them would take exits
// from the other.
package reaper
