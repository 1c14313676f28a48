package unitclient

import (
	"context"
	"net/http"

	"github.com/toskose/toskose/unit/wire"
)

// Document returns a document that the unit keeps; faults NoDocument, NoDocuments
// and NoStorage.
func (c *Client) Document(ctx context.Context, name string) (content []byte, err error) {
	err = c.ask(ctx, c.pool.limits.Call, request{method: http.MethodGet, path: "/documents/" + name}, func(data []byte) error {
		content = data
		return nil
	})
	return content, err
}

// PutDocument makes the unit keep a document; faults OldRevision, NoDocuments and
// NoStorage. It may be called again with the same document.
func (c *Client) PutDocument(ctx context.Context, name string, d wire.Document) error {
	return c.ask(ctx, c.pool.limits.Call, request{
		method: http.MethodPut, path: "/documents/" + name, kind: "application/json", body: d.Content, revision: d.Revision.String(),
	}, func([]byte) error { return nil })
}
