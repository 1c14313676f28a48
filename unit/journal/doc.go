// Package journal records what happened in a container: a sequence of
// wire.Entry values, stored as JSON lines in the segment files of a folder.
// Each entry is synced to disk before anyone sees it.
//
// A segment begins with a checkpoint of all states, so that old segments can
// be deleted and the journal stays bounded. After a crash in the middle of a
// write the torn line is cut off. If more is damaged, everything readable
// after the last good checkpoint is used, and a new segment begins. Each line
// has a checksum as its last member, crc. A random instance id lives as long as
// the container: each entry has it, and a file of its own in the same folder,
// which is written anew where it is not what the entries have.
//
// The package starts no goroutine. Concurrent appends share one write and one
// sync, which one of the callers performs for all.
package journal
