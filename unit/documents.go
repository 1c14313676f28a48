package unit

import (
	"maps"
	"sync"

	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/documents"
	"github.com/toskose/toskose/unit/wire"
)

// documentStore holds the unit's documents and the revisions that the journal has of them.
type documentStore struct {
	folder   documents.Folder
	mu       sync.Mutex
	reported map[string]string
}

func newDocumentStore(folder documents.Folder) *documentStore {
	return &documentStore{folder: folder, reported: folder.Revisions()}
}

// revisions returns the current revisions. It also records what another unit that shares the folder
// has written.
func (k *documentStore) revisions(journal *component.Set) map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.folder.Revisions()
	if !maps.Equal(now, k.reported) {
		k.reported = now
		journal.Documents(now)
	}
	return now
}

// Document returns a stored document. Faults: NoDocument, NoDocuments and NoStorage.
func (u *Reports) Document(name string) (wire.Document, error) {
	d, err := u.documents.folder.Get(name)
	u.documents.revisions(u.components)
	return d, err
}

// PutDocument stores and syncs a document. written is false if it was stored already. The fault
// OldRevision means that its revision does not win.
func (u *Reports) PutDocument(name string, d wire.Document) (written bool, err error) {
	written, err = u.documents.folder.Put(name, d)
	u.documents.revisions(u.components)
	return written, err
}
