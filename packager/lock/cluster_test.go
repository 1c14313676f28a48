package lock

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toskose/toskose/packager/command"
)

// leases is an API server that has one namespace, and Leases in it.
type leases struct {
	sync.Mutex
	t       *testing.T
	exists  bool // the namespace
	objects map[string]map[string]any
	version int
}

func (s *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	w.Header().Set("Content-Type", "application/json")
	const all = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"
	name := strings.TrimPrefix(r.URL.Path, all+"/")
	switch {
	case r.URL.Path == "/api":
		s.reply(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case r.URL.Path == "/apis":
		version := map[string]any{"groupVersion": "coordination.k8s.io/v1", "version": "v1"}
		s.reply(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{
			map[string]any{"name": "coordination.k8s.io", "versions": []any{version}, "preferredVersion": version},
		}})
	case r.URL.Path == "/api/v1":
		s.reply(w, http.StatusOK, resources("v1", "namespaces", "Namespace", false))
	case r.URL.Path == "/apis/coordination.k8s.io/v1":
		s.reply(w, http.StatusOK, resources("coordination.k8s.io/v1", "leases", "Lease", true))
	case r.URL.Path == "/api/v1/namespaces/shop" && s.exists:
		s.reply(w, http.StatusOK, map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "shop"}, "status": map[string]any{"phase": "Active"}})
	case r.URL.Path == all && r.Method == http.MethodPost:
		s.create(w, r)
	case name != r.URL.Path:
		s.one(w, r, name)
	default:
		s.refuse(w, http.StatusNotFound, "NotFound")
	}
}

func resources(version, name, kind string, namespaced bool) map[string]any {
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []any{map[string]any{
		"name": name, "singularName": strings.ToLower(kind), "kind": kind, "namespaced": namespaced, "verbs": []string{"get", "create", "update", "delete"},
	}}}
}

func (s *leases) create(w http.ResponseWriter, r *http.Request) {
	object := s.read(r)
	name, _ := object["metadata"].(map[string]any)["name"].(string)
	switch {
	case !s.exists:
		s.refuse(w, http.StatusNotFound, "NotFound")
	case s.objects[name] != nil:
		s.refuse(w, http.StatusConflict, "AlreadyExists")
	default:
		s.put(w, http.StatusCreated, name, object)
	}
}

func (s *leases) one(w http.ResponseWriter, r *http.Request, name string) {
	object := s.objects[name]
	if object == nil {
		s.refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	now := object["metadata"].(map[string]any)["resourceVersion"]
	switch r.Method {
	case http.MethodGet:
		s.reply(w, http.StatusOK, object)
	case http.MethodPut:
		next := s.read(r)
		if next["metadata"].(map[string]any)["resourceVersion"] != now {
			s.refuse(w, http.StatusConflict, "Conflict")
			return
		}
		s.put(w, http.StatusOK, name, next)
	case http.MethodDelete:
		preconditions, _ := s.read(r)["preconditions"].(map[string]any)
		if preconditions["resourceVersion"] != now {
			s.refuse(w, http.StatusConflict, "Conflict")
			return
		}
		delete(s.objects, name)
		s.reply(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
}

func (s *leases) put(w http.ResponseWriter, code int, name string, object map[string]any) {
	s.version++
	object["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[name] = object
	s.reply(w, code, object)
}

func (s *leases) read(r *http.Request) (object map[string]any) {
	if err := json.NewDecoder(r.Body).Decode(&object); err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return object
}

func (s *leases) reply(w http.ResponseWriter, code int, v any) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *leases) refuse(w http.ResponseWriter, code int, reason string) {
	s.reply(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": "refused"})
}

// withKubectl is an API server, and kubectl set to it.
func withKubectl(t *testing.T) (*leases, command.Cluster) {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skipf("no kubectl: %v", err)
	}
	server := &leases{t: t, exists: true, objects: map[string]map[string]any{}}
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	home := t.TempDir()
	config := filepath.Join(home, "config")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: test\ncontexts: [{name: test, context: {cluster: test, user: test}}]\n" +
		"clusters: [{name: test, cluster: {server: '" + at.URL + "'}}]\nusers: [{name: test, user: {}}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, command.Cluster{Namespace: "shop", Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "KUBECONFIG=" + config}}
}

func TestAClusterKeepsALock(t *testing.T) {
	t.Parallel()
	server, in := withKubectl(t)
	keeps(t, OnCluster(in, "Shop", nil))
	if len(server.objects) > 0 {
		t.Errorf("%v is left", server.objects)
	}
}

func TestTheNamespaceIsMadeForTheLockOfAFirstDeployment(t *testing.T) {
	t.Parallel()
	server, in := withKubectl(t)
	server.exists = false
	if _, err := OnCluster(in, "shop", nil).Create(t.Context(), Record{}); !errors.Is(err, ErrNoNamespace) {
		t.Errorf("error %v", err)
	}
	first := OnCluster(in, "shop", func(context.Context) error {
		server.Lock()
		defer server.Unlock()
		server.exists = true
		return nil
	})
	if _, err := first.Create(t.Context(), Record{}); err != nil {
		t.Error(err)
	}
}

// TestALockGoesWithItsNamespace: what removes the namespace holds the lock until the end.
func TestALockGoesWithItsNamespace(t *testing.T) {
	t.Parallel()
	server, in := withKubectl(t)
	store := OnCluster(in, "shop", nil)
	version, err := store.Create(t.Context(), Record{ID: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	server.Lock()
	server.exists, server.objects = false, nil
	server.Unlock()
	if _, err := store.Replace(t.Context(), Record{ID: "ada"}, version); err != nil {
		t.Error(err)
	}
}
