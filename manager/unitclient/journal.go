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

// Cursor returns the cursor after an entry of a journal.
func Cursor(instance string, seq uint64) string { return fmt.Sprintf("%s:%d", instance, seq) }

// Now is the cursor of a journal's end. Its page is one EntryHello, immediately.
const Now = "now"

// Page is one page of a journal.
type Page struct {
	Instance string       // the instance of the journal
	Reset    bool         // it does not start at the cursor: see Journal
	Entries  []wire.Entry // in order; empty after a timeout
}

// Journal returns the entries after a cursor (empty: from the beginning), and waits up to wait for the first. If
// the container was replaced, or the journal no longer reaches back to the cursor, the page starts at the
// beginning; its instance then differs from the cursor's if the container was replaced. If a response is too long
// or cut off, Journal returns the entries that have arrived: the caller continues from there.
func (c *Client) Journal(ctx context.Context, cursor string, wait time.Duration) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+c.pool.limits.Call)
	defer cancel()
	query := url.Values{"wait": {wait.String()}}
	if cursor != "" {
		query.Set("after", cursor)
	}
	ctx, closed := c.noteClosed(ctx)
	answer, err := c.send(ctx, request{method: http.MethodGet, path: "/journal?" + query.Encode()})
	if err != nil {
		return Page{}, closed(err)
	}
	defer answer.Body.Close()
	page := Page{Instance: answer.Header.Get("Toskose-Instance"), Reset: answer.Header.Get("Toskose-Reset") == "true"}
	if page.Instance == "" {
		return page, fmt.Errorf("journal: %w: it names no instance", ErrBadAnswer)
	}
	page.Entries, err = readEntries(bufio.NewReader(io.LimitReader(answer.Body, c.pool.limits.Answer)))
	for i := range page.Entries {
		c.renameEntry(&page.Entries[i])
	}
	if err == nil || len(page.Entries) > 0 {
		return page, nil
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &mismatch) || errors.Is(err, errNoEntry) {
		return page, fmt.Errorf("journal: %w: %w", ErrBadAnswer, err)
	}
	return page, closed(fmt.Errorf("journal: %w", unreachable(ctx, err)))
}

var errNoEntry = errors.New("an entry has no instance or no number")

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
