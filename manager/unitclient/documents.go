package unitclient

import (
	"context"
	"fmt"
	"net/http"

	"github.com/toskose/toskose/unit/wire"
)

const (
	revisionHeader = "Toskose-Revision" // of the document in a body
	replacesHeader = "Toskose-Replaces" // the revision to replace unconditionally
)

// Document returns a document that the unit stores; faults NoDocument, NoDocuments
// and NoStorage.
func (c *Client) Document(ctx context.Context, name string) (d wire.Document, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.pool.limits.Call)
	defer cancel()
	r := request{method: http.MethodGet, path: "/documents/" + name}
	answer, err := c.send(ctx, r)
	if err != nil {
		return d, err
	}
	defer answer.Body.Close()
	if d.Content, err = c.readAll(ctx, answer.Body); err != nil {
		return d, r.failed(err)
	}
	if err = d.Revision.UnmarshalText([]byte(answer.Header.Get(revisionHeader))); err != nil {
		return d, r.failed(fmt.Errorf("%w: %w", ErrBadAnswer, err))
	}
	return d, nil
}

// PutDocument stores a document on the unit; faults OldRevision, NoDocuments and NoStorage. It is idempotent.
func (c *Client) PutDocument(ctx context.Context, name string, d wire.Document) error {
	header := map[string]string{revisionHeader: d.Revision.String()}
	if d.Replaces != (wire.Revision{}) {
		header[replacesHeader] = d.Replaces.String()
	}
	return c.ask(ctx, c.pool.limits.Call, request{
		method: http.MethodPut, path: "/documents/" + name, kind: "application/json", body: d.Content, header: header,
	}, func([]byte) error { return nil })
}
