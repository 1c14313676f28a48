package fakeunit

import "github.com/toskose/toskose/unit/wire"

// Document returns a stored document.
func (u *Unit) Document(name string) (wire.Document, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, ok := u.documents[name]
	if !ok {
		return d, wire.NewFault(wire.NoDocument, name)
	}
	return d, nil
}

// PutDocument stores a document, unless the stored one has a higher revision.
func (u *Unit) PutDocument(name string, d wire.Document) (written bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now, ok := u.documents[name]; ok && d.Replaces != now.Revision && d.Revision.Compare(now.Revision) <= 0 {
		if d.Revision == now.Revision {
			return false, nil
		}
		return false, &wire.Fault{Code: wire.OldRevision, Revision: now.Revision.String()}
	}
	if u.documents == nil {
		u.documents = map[string]wire.Document{}
	}
	u.documents[name] = d
	return true, nil
}
