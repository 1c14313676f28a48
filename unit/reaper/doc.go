// Package reaper is the only place that waits for processes. It forks the
// unit's children, reaps them and every orphan that PID 1 or a subreaper is
// given, and reports how each of them ended.
//
// One goroutine, started by [Reaper.Run], does all the reaping. It sleeps in
// waitid(2) until a child dies and, while there are no children, until SIGCHLD
// announces the death of a new one; at other times the process does nothing about SIGCHLD.
// While orphans end one after the other it looks every few milliseconds. The callbacks of [Options] run on it;
// [Reaper.Start] and the methods of [Child] may be called from any goroutine,
// including from those callbacks.
//
// Nothing else in the process may wait for children: os/exec or
// os.StartProcess would take exits from the reaper, and the reaper from them.
package reaper
