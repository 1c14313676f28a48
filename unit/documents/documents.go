// Package documents stores the documents that every unit of an application keeps a copy of, in a
// folder that replicas on one machine share. A document is opaque; of two documents, the one with
// the higher revision wins.
//
// The package starts no goroutine. Each method opens the files it needs, so that all units that
// share a folder see the same documents.
package documents

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/safepath"
	"github.com/toskose/toskose/unit/wire"
)

// Names are the names of all documents.
var Names = []string{wire.GoalDocument, wire.TargetsDocument, wire.RemovedDocument}

// Folder is the folder of the documents. The unit never creates it: without a mount the documents
// would be lost with the container.
type Folder struct {
	Path string
	// Owner identifies the owner of the documents; empty: any. Documents of another owner, such as
	// a removed application with the same name, are ignored.
	Owner string
}

// header returns the first line of a document's file: its revision, a checksum, and the owner, if
// any.
func (f Folder) header(d wire.Document) string {
	sum := crc32.Update(crc32.ChecksumIEEE(d.Content), crc32.IEEETable, []byte(d.Revision.String()+f.Owner))
	return strings.TrimRight(fmt.Sprintf("%s %08x %s", d.Revision, sum, f.Owner), " ") + "\n"
}

// Get returns a document. Faults: NoDocument and NoDocuments.
func (f Folder) Get(name string) (wire.Document, error) {
	if err := f.known(name); err != nil {
		return wire.Document{}, err
	}
	text, err := safepath.ReadFile(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(f.Path); err != nil {
			return wire.Document{}, f.fault(err)
		}
		return wire.Document{}, wire.NewFault(wire.NoDocument, fmt.Sprintf("this unit has no document %q yet", name))
	}
	if err != nil {
		return wire.Document{}, f.fault(err)
	}
	line, content, _ := bytes.Cut(text, []byte("\n"))
	first, _, _ := bytes.Cut(line, []byte(" "))
	revision, err := wire.ParseRevision(string(first))
	d := wire.Document{Revision: revision, Content: content}
	if words := strings.Fields(string(line)); len(words) > 2 && words[2] != f.Owner || len(words) == 2 && f.Owner != "" {
		return wire.Document{}, wire.NewFault(wire.NoDocument, fmt.Sprintf("the document %q belongs to another owner", name))
	}
	if err != nil || string(line)+"\n" != f.header(d) {
		return wire.Document{}, wire.NewFault(wire.NoDocument, fmt.Sprintf("the file of the document %q is damaged", name))
	}
	return d, nil
}

// Put stores and syncs a document unless the stored one has the same or a higher revision. It
// returns false and nil if they are equal, and otherwise the fault OldRevision. A document may name
// a higher revision that it replaces.
func (f Folder) Put(name string, d wire.Document) (written bool, err error) {
	if err := f.known(name); err != nil {
		return false, err
	}
	unlock, err := f.lock()
	if err != nil {
		return false, f.fault(err)
	}
	defer unlock()
	now, err := f.Get(name)
	if code, _ := wire.FaultCodeOf(err); err != nil && code != wire.NoDocument {
		return false, err
	}
	replaces := d.Replaces != (wire.Revision{}) && d.Replaces == now.Revision
	if err == nil && !replaces && d.Revision.Compare(now.Revision) <= 0 {
		if d.Revision == now.Revision && bytes.Equal(d.Content, now.Content) {
			return false, nil
		}
		return false, &wire.Fault{
			Code: wire.OldRevision, Revision: now.Revision.String(),
			Detail: fmt.Sprintf("the document %q is %s, which %s does not replace", name, now.Revision, d.Revision),
		}
	}
	if err := f.replace(f.path(name), d); err != nil {
		return false, f.fault(err)
	}
	return true, nil
}

// Revisions returns the revision of each stored document.
func (f Folder) Revisions() map[string]string {
	var all map[string]string
	for _, name := range Names {
		if d, err := f.Get(name); err == nil {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = d.Revision.String()
		}
	}
	return all
}

func (f Folder) path(name string) string { return filepath.Join(f.Path, name) }

func (f Folder) known(name string) error {
	if !slices.Contains(Names, name) {
		return wire.NewFault(wire.NoDocument, fmt.Sprintf("no document is named %q", name))
	}
	return nil
}

// fault returns the fault for a folder that cannot be used.
func (f Folder) fault(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return wire.NewFault(wire.NoDocuments, fmt.Sprintf("this unit cannot store documents: there is no folder %s", f.Path))
	}
	return wire.NewFault(wire.NoStorage, fmt.Sprintf("this unit cannot store documents: %v", err))
}

// The time to wait for the lock, which other units hold during a sync.
const (
	lockTries = 500
	lockPause = 10 * time.Millisecond
)

// lock locks the folder against other units. The kernel releases the lock of a unit that ends.
func (f Folder) lock() (unlock func(), err error) {
	dir, err := safepath.Open(f.Path)
	if err != nil {
		return nil, err
	}
	for range lockTries {
		if err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockPause)
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", f.Path, err)
	}
	return func() {
		// Before closing: a child between fork and exec has the file open too.
		_ = unix.Flock(int(dir.Fd()), unix.LOCK_UN)
		dir.Close()
	}, nil
}

// replace writes a file completely or not at all, and syncs it. The caller holds the lock.
func (f Folder) replace(path string, d wire.Document) (err error) {
	next, err := safepath.Create(path+".new", 0o660) // for the group that the replicas share
	if err != nil {
		return err
	}
	_, err = next.Write(append([]byte(f.header(d)), d.Content...))
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err == nil {
		err = safepath.Rename(next.Name(), path)
	}
	if err != nil {
		_ = safepath.Remove(next.Name())
		return err
	}
	dir, err := safepath.Open(f.Path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
