package stack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/output"
)

// fakeSwarm is an engine with services, tasks and secrets of the application "shop".
type fakeSwarm struct {
	mu       sync.Mutex
	services []swarm.Service
	tasks    []swarm.Task
	secrets  []swarm.Secret
	updates  int
	stale    int // updates that are refused, as somebody else has changed the service
}

func mounts(name string, secrets ...string) swarm.Service {
	s := swarm.Service{ID: "id-" + name}
	s.Spec.Name = "shop_" + name
	s.Spec.Labels = map[string]string{"io.toskose.releases": "as they are"}
	spec := &swarm.ContainerSpec{Image: "shop:1", Labels: map[string]string{}}
	if name != "toskose-manager" {
		spec.Labels[packager.LabelNode] = name
	}
	for _, secret := range secrets {
		called, _, _ := strings.Cut(strings.TrimPrefix(secret, "shop_"), "_")
		spec.Secrets = append(spec.Secrets, &swarm.SecretReference{SecretID: "id-" + secret, SecretName: secret, File: &swarm.SecretReferenceFileTarget{Name: called, UID: "0", Mode: 0o444}})
	}
	s.Spec.TaskTemplate.ContainerSpec = spec
	return s
}

func (f *fakeSwarm) engine(t *testing.T) *client.Client {
	t.Helper()
	return testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var answer any
		switch name := path.Base(r.URL.Path); {
		case name == "services":
			answer = f.services
		case name == "tasks":
			answer = f.tasks
		case name == "secrets":
			answer = f.secrets
		case name == "json": // containers, none of which is here
			answer = []any{}
		case name == "volumes":
			answer = map[string]any{"Volumes": []any{}}
		case strings.HasSuffix(r.URL.Path, "/secrets/create"):
			var spec swarm.SecretSpec
			if err := json.NewDecoder(r.Body).Decode(&spec); err != nil {
				t.Error(err)
			}
			f.secrets = append(f.secrets, swarm.Secret{ID: "id-" + spec.Name, Spec: spec})
			w.WriteHeader(http.StatusCreated)
			answer = map[string]string{"ID": "id-" + spec.Name}
		case strings.Contains(r.URL.Path, "/secrets/") && r.Method == http.MethodDelete:
			f.secrets = slices.DeleteFunc(f.secrets, func(s swarm.Secret) bool { return s.ID == name })
			w.WriteHeader(http.StatusNoContent)
			return
		case name == "update":
			if f.stale > 0 {
				f.stale--
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"message": "rpc error: code = Unknown desc = update out of sequence"}`)
				return
			}
			f.updates++
			id := path.Base(path.Dir(r.URL.Path))
			i := slices.IndexFunc(f.services, func(s swarm.Service) bool { return s.ID == id })
			if err := json.NewDecoder(r.Body).Decode(&f.services[i].Spec); err != nil {
				t.Error(err)
			}
			f.services[i].UpdateStatus = nil
			answer = map[string]any{}
		default: // a service
			i := slices.IndexFunc(f.services, func(s swarm.Service) bool { return s.Spec.Name == name || s.ID == name })
			if i < 0 {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"message": "no such service"}`)
				return
			}
			answer = f.services[i]
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// stack is the application on that swarm.
func (f *fakeSwarm) stack(t *testing.T) *Stack {
	t.Helper()
	s := shop(f.engine(t))
	s.Info.Manager.Service, s.Info.Nodes = "toskose-manager", []string{"backend"}
	return s
}

// TestOtherSecretsAreMounted: in the order in which Docker's command would have them, once, and
// with nothing else changed.
func TestOtherSecretsAreMounted(t *testing.T) {
	t.Parallel()
	f := &fakeSwarm{
		services: []swarm.Service{mounts("toskose-manager", "shop_backend-password_01", "shop_manager-password_01"), mounts("backend", "shop_a_01", "shop_backend-password_01"), mounts("store")},
		secrets:  []swarm.Secret{{ID: "id-shop_backend-password_02", Spec: swarm.SecretSpec{Annotations: swarm.Annotations{Name: "shop_backend-password_02"}}}},
		stale:    2,
	}
	r := f.stack(t)
	services, err := r.Services(t.Context())
	if err != nil || len(services) != 3 || services[0].Name != "backend" || !services[0].Managed || services[0].Secrets["backend-password"] != "01" || services[1].Managed || !services[2].Manager {
		t.Errorf("services %+v, %v", services, err)
	}
	now := map[string]output.Replacement{"a": {Value: "x", Suffix: "zz"}, "backend-password": {Value: "new", Suffix: "02"}, "other": {Value: "y", Suffix: "03"}}
	for range 2 {
		if err := r.Mount(t.Context(), "backend", now); err != nil {
			t.Fatal(err)
		}
	}
	spec := f.services[1].Spec
	var has []string
	for _, mounted := range spec.TaskTemplate.ContainerSpec.Secrets {
		has = append(has, fmt.Sprint(mounted.SecretID, " ", mounted.SecretName, " ", mounted.File.Name, " ", mounted.File.Mode))
	}
	if want := []string{"id-shop_a_zz shop_a_zz a -r--r--r--", "id-shop_backend-password_02 shop_backend-password_02 backend-password -r--r--r--"}; !slices.Equal(has, want) {
		t.Errorf("mounted are %q, want %q", has, want)
	}
	if spec.Labels["io.toskose.releases"] != "as they are" || spec.TaskTemplate.ContainerSpec.Image != "shop:1" || f.updates != 1 {
		t.Errorf("%d updates to %+v", f.updates, spec)
	}
	if len(f.secrets) != 2 || string(f.secrets[1].Spec.Data) != "x" || f.secrets[1].Spec.Labels[compose.LabelStack] != "shop" {
		t.Errorf("secrets %+v", f.secrets)
	}
	if err := r.Mount(t.Context(), "nobody", now); err == nil || !strings.Contains(err.Error(), `cannot find service "nobody"`) {
		t.Errorf("error %v", err)
	}
	if err := r.Tidy(t.Context(), map[string][]string{"backend-password": {"01", "02"}, "a": {"zz"}}); err != nil || len(f.secrets) != 2 {
		t.Errorf("what is mounted is removed: %+v, %v", f.secrets, err)
	}
	f.secrets = append(f.secrets, swarm.Secret{ID: "theirs", Spec: swarm.SecretSpec{Annotations: swarm.Annotations{Name: "shop_theirs_01"}}},
		swarm.Secret{ID: "old", Spec: swarm.SecretSpec{Annotations: swarm.Annotations{Name: "shop_a_01"}}})
	before := mounts("backend", "shop_a_01").Spec
	f.services[1].PreviousSpec = &before
	if err := r.Tidy(t.Context(), map[string][]string{"a": {"01"}}); err != nil || len(f.secrets) != 3 || f.secrets[2].ID != "theirs" {
		t.Errorf("left are %+v, %v", f.secrets, err)
	}
	f.stale = 1 << 10
	if err := r.Mount(t.Context(), "backend", map[string]output.Replacement{"a": {Value: "x", Suffix: "04"}}); err == nil || !strings.Contains(err.Error(), "out of sequence") {
		t.Errorf("error %v", err)
	}
}

func TestWhatASwarmStillDoesForAService(t *testing.T) {
	t.Parallel()
	two, created := uint64(2), time.Now()
	now, before := mounts("backend", "shop_a_02").Spec.TaskTemplate.ContainerSpec, mounts("backend", "shop_a_01").Spec.TaskTemplate.ContainerSpec
	task := func(spec *swarm.ContainerSpec, desired, state swarm.TaskState, problem string) swarm.Task {
		created = created.Add(time.Second)
		return swarm.Task{ID: "t", ServiceID: "id-backend", DesiredState: desired, Spec: swarm.TaskSpec{ContainerSpec: spec}, Status: swarm.TaskStatus{State: state, Err: problem}, Meta: swarm.Meta{CreatedAt: created}}
	}
	up, gone := task(now, "running", "running", ""), task(before, "shutdown", "shutdown", "")
	for name, tt := range map[string]struct {
		update      swarm.UpdateState
		tasks       []swarm.Task
		waits, says string
	}{
		"all of it runs":                  {swarm.UpdateStateCompleted, []swarm.Task{gone, up, up}, "", ""},
		"nothing has begun":               {"", []swarm.Task{task(before, "running", "running", ""), up}, "an old container still runs", ""},
		"it is being updated":             {swarm.UpdateStateUpdating, []swarm.Task{up, up}, "it is being updated", ""},
		"one is missing":                  {"", []swarm.Task{gone, up}, "1 of 2 containers run", ""},
		"one has no place":                {swarm.UpdateStateUpdating, []swarm.Task{up, task(now, "running", "pending", "no node fits")}, "a container is pending: no node fits", ""},
		"the swarm has taken it back":     {swarm.UpdateStateRollbackCompleted, []swarm.Task{task(now, "shutdown", "failed", "exit 1"), up}, "", "has stopped updating service \"shop_backend\": as it says (failed: exit 1)"},
		"the swarm leaves it as it is":    {swarm.UpdateStatePaused, []swarm.Task{up}, "", "as it says"},
		"a task of another service fails": {"", []swarm.Task{up, up, {ServiceID: "other", DesiredState: "running", Status: swarm.TaskStatus{State: "pending"}}}, "", ""},
	} {
		s := mounts("backend", "shop_a_02")
		s.Spec.Mode.Replicated = &swarm.ReplicatedService{Replicas: &two}
		if tt.update != "" {
			s.UpdateStatus = &swarm.UpdateStatus{State: tt.update, Message: "as it says"}
		}
		f := &fakeSwarm{services: []swarm.Service{s}, tasks: tt.tasks}
		waits, err := f.stack(t).Settled(t.Context(), "backend")
		if waits != tt.waits || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: waits for %q, %v", name, waits, err)
		}
	}
	f := &fakeSwarm{}
	if _, err := f.stack(t).Settled(t.Context(), "backend"); err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("error %v", err)
	}
}

// TestAnApplicationRunsWhoseContainersAreElsewhere: an engine lists only its own.
func TestAnApplicationRunsWhoseContainersAreElsewhere(t *testing.T) {
	t.Parallel()
	for state, want := range map[swarm.TaskState]bool{swarm.TaskStateRunning: true, swarm.TaskStateFailed: false} {
		f := &fakeSwarm{services: []swarm.Service{mounts("backend")}, tasks: []swarm.Task{{ServiceID: "id-backend", DesiredState: swarm.TaskStateRunning, Status: swarm.TaskStatus{State: state}}}}
		if before, err := f.stack(t).Existing(t.Context()); err != nil || before.Running != want {
			t.Errorf("with a task that is %s: %+v, %v", state, before, err)
		}
	}
}
