// Package reaper is the only place that waits for processes. It forks the unit's children, reaps
// them and every orphan that PID 1 or a subreaper adopts, and reports how each of them ended.
//
// One goroutine, started by [Reaper.Run], does all the reaping. It sleeps in waitid(2) until a
// child dies. While there are no children it waits for SIGCHLD instead; at other times the process
// ignores SIGCHLD. While many orphans end in a row it polls every few milliseconds. The callbacks
// of [Options] run on this goroutine; [Reaper.Start] and the methods of [Child] may be called from
// any goroutine, including from those callbacks.
//
// Nothing else in the process may wait for children: os/exec and os.StartProcess would take exits
// from the reaper, and the reaper from them.
package reaper
