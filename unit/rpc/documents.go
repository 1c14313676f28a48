package rpc

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

const (
	// revisionHeader is the revision of the document in the body.
	revisionHeader = "Toskose-Revision"
	// replacesHeader is the revision that the document replaces even if it is higher.
	replacesHeader = "Toskose-Replaces"
)

func documentName(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/documents/") }

// getDocument returns a document unchanged.
func (h documentHandler) getDocument(a *answer, r *http.Request) error {
	d, err := h.unit.Document(documentName(r))
	if err != nil {
		return err
	}
	a.Header().Set(revisionHeader, d.Revision.String())
	a.Header().Set("Content-Type", "application/octet-stream")
	a.Header().Set("X-Content-Type-Options", "nosniff")
	a.Header().Set("Content-Length", strconv.Itoa(len(d.Content)))
	a.WriteHeader(http.StatusOK)
	if _, err := a.Write(d.Content); err != nil {
		h.logger.Debug("document not delivered", "error", err)
	}
	return nil
}

// putDocument stores a document: 201, or 200 if it was stored already.
func (h documentHandler) putDocument(a *answer, r *http.Request) error {
	revision, err := wire.ParseRevision(r.Header.Get(revisionHeader))
	if err != nil {
		return statusErrorf(http.StatusBadRequest, "the header %s: %w", revisionHeader, err)
	}
	var replaces wire.Revision
	if err := replaces.UnmarshalText([]byte(r.Header.Get(replacesHeader))); err != nil {
		return statusErrorf(http.StatusBadRequest, "the header %s: %w", replacesHeader, err)
	}
	limit := wire.MaxBytesOf(documentName(r))
	content, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	switch {
	case err != nil:
		return statusErrorf(http.StatusBadRequest, "cannot read the document: %w", err)
	case len(content) > limit:
		return statusErrorf(http.StatusRequestEntityTooLarge, "a document has at most %d bytes", limit)
	}
	written, err := h.unit.PutDocument(documentName(r), wire.Document{Revision: revision, Content: content, Replaces: replaces})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if written {
		status = http.StatusCreated
	}
	return h.answerJSON(a, status, map[string]string{"revision": revision.String()})
}
