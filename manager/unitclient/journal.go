package unitclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Cursor names the place in a journal behind an entry.
func Cursor(instance string, seq uint64) string { return fmt.Sprintf("%s:%d", instance, seq) }

// Page is one answer of a journal.
type Page struct {
	Instance string       // whose journal it is
	Reset    bool         // it begins elsewhere than behind the cursor: see Journal
	Entries  []wire.Entry // in order; empty when the wait ended first
}

// Journal gives the entries after a cursor (empty: from the beginning), waiting
// for the first at most for wait. A page of another instance than the cursor's
// means that the container was replaced; it begins at that one's beginning, as
// does a page for a cursor that the journal no longer reaches. An answer that is
// too long or cut off gives what has arrived: the caller goes on from there.
func (c *Client) Journal(ctx context.Context, cursor string, wait time.Duration) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+c.pool.limits.Call)
	defer cancel()
	query := url.Values{"wait": {wait.String()}}
	if cursor != "" {
		query.Set("after", cursor)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+"/journal?"+query.Encode(), http.NoBody)
	if err != nil {
		return Page{}, fmt.Errorf("journal: %w", err)
	}
	answer, err := c.do(req)
	if err != nil {
		return Page{}, fmt.Errorf("journal: %w", err)
	}
	defer answer.Body.Close()
	page := Page{Instance: answer.Header.Get("Toskose-Instance"), Reset: answer.Header.Get("Toskose-Reset") == "true"}
	if page.Instance == "" {
		return page, fmt.Errorf("journal: %w: it names no instance", ErrBadAnswer)
	}
	page.Entries, err = readEntries(bufio.NewReader(io.LimitReader(answer.Body, c.pool.limits.Answer)))
	if err == nil || len(page.Entries) > 0 {
		return page, nil
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &mismatch) || errors.Is(err, errNoEntry) {
		return page, fmt.Errorf("journal: %w: %w", ErrBadAnswer, err)
	}
	return page, fmt.Errorf("journal: %w", c.unreachable(ctx, err))
}

var errNoEntry = errors.New("an entry without an instance or a number")

func readEntries(r io.Reader) ([]wire.Entry, error) {
	var entries []wire.Entry
	for lines := json.NewDecoder(r); ; {
		var e wire.Entry
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err == nil && (e.Instance == "" || e.Seq == 0) {
			err = errNoEntry
		}
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
}
