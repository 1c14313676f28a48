// Package logs reads the output of components on all replicas of an application, as lines in the order in which
// they were written: either the existing lines, or also new lines as they are written.
//
// A reader's position covers every log, so that it can resume in another manager: managers keep no state for it. A
// line is lost only together with its log file, and the reader is notified.
//
// A Reader requests all wanted logs of a replica from its unit in one request. It owns a goroutine per replica,
// which holds one piece and waits until it is read: a slow reader delays only itself. The goroutines end with the
// Reader's context, or with Close.
package logs
