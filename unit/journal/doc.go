// Package journal records the events of a container: a sequence of wire.Entry values, stored as
// JSON lines in the segment files of a folder. Each entry is synced to disk before any reader sees
// it.
//
// A segment begins with a checkpoint of all states, so that old segments can be deleted and the
// journal stays bounded. After a crash during a write the torn line is removed. If more is damaged,
// everything readable after the last good checkpoint is used, and a new segment begins. The last
// member of each line, crc, is a checksum. A random instance id lives as long as the container: it
// is in each entry and in a file of its own in the same folder, which is rewritten if it differs
// from the entries.
//
// The package starts no goroutine. Concurrent appends share one write and one sync, which one of
// the callers performs for all.
package journal
