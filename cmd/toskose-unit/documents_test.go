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
	return c.putDocument(wire.GoalDocument, revision, content)
}

func (c *container) putDocument(name, revision, content string) error {
	c.t.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d/documents/%s", c.port, name)
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

func TestAUnitIsReadyWhenWhatTheGoalWantsRuns(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": "echo $$ >pid; exec sleep 1000", "stop": "kill $(cat pid)"}, ""))
	folder := filepath.Join(c.dir, "documents")
	c.write("supervisord.conf", strings.Replace(c.read("supervisord.conf"), "nodaemon=true", "nodaemon=true\ntoskose_documents="+folder, 1))
	c.boot()
	port := "SUPERVISORD_PORT=" + strings.TrimPrefix(c.address(), "127.0.0.1:")
	expect := func(when string, want int) {
		t.Helper()
		if code, output := command(t, []string{port}, "ready"); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", when, code, want, output)
		}
		if code, output := command(t, []string{port}, "health"); code != 0 {
			t.Errorf("%s: it is not healthy: %d: %s", when, code, output)
		}
	}
	tell := func(revision, content string) {
		t.Helper()
		if err := c.putDocument(wire.TargetsDocument, revision, content); err != nil {
			t.Fatal(err)
		}
	}
	expect("nobody can tell it anything", 0)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	expect("nobody has told it anything", 1)
	tell("1:a", `{"components":{}}`)
	expect("nothing is wanted", 0)
	tell("2:a", `{"components":{"api":"running"}}`)
	expect("api is to run, and does not", 1)
	for _, operation := range []string{"create", "configure", "start"} {
		if operation == "start" {
			expect("api is configured", 1)
		}
		c.run("api", operation)
	}
	expect("api runs", 0)
	c.run("api", "stop")
	expect("api was stopped", 1)
	tell("3:a", `{"components":{"other":"running"}}`)
	expect("something is wanted that is not here", 1)
	tell("4:a", `[]`)
	expect("what it was told is no targets", 1)
	tell("5:a", `{"components":{}}`)
	expect("nothing is wanted any more", 0)
}
