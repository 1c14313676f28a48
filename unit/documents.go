package unit

import (
	"maps"
	"sync"

	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/documents"
	"github.com/toskose/toskose/unit/wire"
)

// kept is the documents that the unit keeps, and what the journal has of them.
type kept struct {
	folder documents.Folder
	mu     sync.Mutex
	told   map[string]string
}

func keep(folder documents.Folder) *kept { return &kept{folder: folder, told: folder.Revisions()} }

// revisions returns what is kept now. What another unit that shares the folder has
// written since is noticed here.
func (k *kept) revisions(journal *component.Set) map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.folder.Revisions()
	if !maps.Equal(now, k.told) {
		k.told = now
		journal.Documents(now)
	}
	return now
}

// Document returns a document that the unit keeps; faults NoDocument, NoDocuments
// and NoStorage.
func (u *Executions) Document(name string) (wire.Document, error) {
	d, err := u.documents.folder.Get(name)
	u.documents.revisions(u.components)
	return d, err
}

// PutDocument keeps a document, synced when it returns; false: it was kept already.
// One whose revision does not win is the fault OldRevision.
func (u *Executions) PutDocument(name string, d wire.Document) (written bool, err error) {
	written, err = u.documents.folder.Put(name, d)
	u.documents.revisions(u.components)
	return written, err
}
