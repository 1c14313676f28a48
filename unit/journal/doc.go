// Package journal keeps what happened in a container: one wire.Entry after the
// other, as JSON lines in the segment files of a folder, each synced to the
// disk before anyone is told of it.
//
// A segment begins with a checkpoint of all states, so that old segments can
// be deleted and the journal stays bounded. After a crash in the middle of a
// write the torn line is cut off; where more is damaged, all that can be read
// after the last good checkpoint is used, and a new segment begins. A random
// instance id lies in the same folder: it lives as long as the container does.
//
// The package starts no goroutine. Appends that come at the same time share
// one write and one sync, which one of their callers does for all.
package journal
