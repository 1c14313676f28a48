package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// put gives a unit its goal.
func (c *container) put(revision, content string) error {
	c.t.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d/documents/goal", c.port)
	request, err := http.NewRequest(http.MethodPut, url, strings.NewReader(content))
	if err != nil {
		c.t.Fatal(err)
	}
	request.SetBasicAuth("admin", c.password)
	request.Header.Set("Toskose-Revision", revision)
	response, err := patient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%d %s", response.StatusCode, bytes.TrimSpace(text))
	}
	return nil
}

// goal returns what a unit keeps.
func (c *container) goal() string {
	c.t.Helper()
	response, err := c.request(http.MethodGet, "/documents/goal", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.Header.Get("Toskose-Revision") + " " + string(text)
}

func TestReplicasThatShareAFolderKeepTheSameGoal(t *testing.T) {
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "documents")
	replica := func() *container {
		c := newContainer(t, "")
		c.write("supervisord.conf", strings.Replace(c.read("supervisord.conf"), "nodaemon=true", "nodaemon=true\ntoskose_documents="+shared, 1))
		return c.boot()
	}
	one, two := replica(), replica()
	if err := one.put("1:a", "x"); err == nil || !strings.Contains(err.Error(), "NO_DOCUMENTS") || !strings.Contains(err.Error(), shared) {
		t.Errorf("without the folder: %v", err)
	}
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	cursor := two.entries("now")[0]
	if err := one.put("1:a", "up"); err != nil {
		t.Fatal(err)
	}
	if err := two.put("1:A", "down"); err == nil || !strings.Contains(err.Error(), "OLD_REVISION") || !strings.Contains(err.Error(), `"revision":"1:a"`) {
		t.Errorf("the lower id: %v", err)
	}
	for name, c := range map[string]*container{"one": one, "two": two} {
		if got := c.goal(); got != "1:a up" {
			t.Errorf("%s keeps %q", name, got)
		}
		told := c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryDocument })
		if told.Documents["goal"] != "1:a" {
			t.Errorf("the journal of %s says %+v", name, told)
		}
		if hello := c.entries("now"); hello[0].Unit.Documents["goal"] != "1:a" {
			t.Errorf("the hello of %s has %+v", name, hello[0].Unit)
		}
	}
	if next := two.entries(fmt.Sprintf("%s:%d", cursor.Instance, cursor.Seq)); len(next) != 1 {
		t.Errorf("two has %+v", next)
	}
	// It outlives the container, and a new one tells nothing new.
	one.kill()
	three := replica()
	if got := three.goal(); got != "1:a up" {
		t.Errorf("a new replica keeps %q", got)
	}
	if err := three.put("2:a", "next"); err != nil {
		t.Error(err)
	}
	if got := two.goal(); got != "2:a next" {
		t.Errorf("two keeps %q", got)
	}
}
