// Package logs reads what components print on all replicas of an application, as
// lines in the order in which they were written: once, or as they come.
//
// Where a reader stands is a position that says it of each log, so that it can go on
// there in another manager, too: none keeps anything. A line is lost only with the
// file that it was in, and then the reader is told.
//
// A Reader asks the unit of each replica for all logs that it wants of it, in one
// request. It owns a goroutine for each, which holds one piece, and waits until
// that is read: who reads slowly slows nobody down but itself. They end with the
// Reader's context, or with Close.
package logs
