package volumes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/volumes/tree"
)

// state is in the environment of a kubectl of these tests: the folder of its cluster.
const state = "TOSKOSE_TEST_CLUSTER"

// TestMain lets this program be a kubectl, too: it is the first in PATH.
func TestMain(m *testing.M) {
	if dir := os.Getenv(state); dir != "" {
		os.Exit(asKubectl(dir, os.Args[1:]))
	}
	dir, err := os.MkdirTemp("", "kubectl-")
	if err == nil {
		var self string
		if self, err = os.Executable(); err == nil {
			err = os.Symlink(self, filepath.Join(dir, "kubectl"))
		}
	}
	if err == nil {
		err = os.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leak.Main(m, func() { os.RemoveAll(dir) })
}

// asKubectl does what the commands of a cluster's volumes ask of one, in a folder: objects.json
// is what there is, and a file with the name of a command what that fails with.
func asKubectl(dir string, args []string) int {
	words := strings.Join(args, " ")
	calls, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(calls, words)
	for strings.HasPrefix(args[0], "--") {
		args = args[2:]
	}
	verb := args[0]
	if said, err := os.ReadFile(filepath.Join(dir, verb)); err == nil {
		os.Stderr.Write(said)
		return 1
	}
	show := func(name string) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(data)
	}
	switch {
	case verb == "apply":
		show("folder.json")
	case verb == "create":
		data, _ := io.ReadAll(os.Stdin)
		err = os.WriteFile(filepath.Join(dir, "made.json"), data, 0o600)
	case strings.Contains(words, "get pod toskose-volume-"):
		show("pod.json")
	case strings.Contains(words, "get pods --selector "+labelCopies):
		show("left.json")
	case strings.Contains(words, "get persistentvolumeclaim "):
		show("claim.json")
	case strings.Contains(words, "get persistentvolumeclaims --ignore-not-found "):
		show("external.json")
	case strings.Contains(words, "get events"):
		show("events.json")
	case strings.Contains(words, "get statefulset/store"):
		fmt.Print(`{"kind": "StatefulSet", "spec": {"replicas": 2}}`)
	case strings.Contains(words, "get statefulset/owned"):
		fmt.Print(`{"kind": "StatefulSet", "metadata": {"ownerReferences": [{"kind": "Component", "controller": true}]}, "spec": {"replicas": 2}}`)
	case verb == "get":
		show("objects.json")
	case verb == "logs":
		show("log")
	case strings.HasSuffix(words, "volume tar /volume"):
		err = tree.WriteWithSummary(os.Stdout, filepath.Join(dir, "volume"))
	case strings.HasSuffix(words, "volume untar /volume"):
		err = tree.Replace(os.Stdin, filepath.Join(dir, "volume"), "token", reporting(os.Stdout), func() error { return nil })
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "toskose-manager: %v\ncommand terminated with exit code 1\n", err)
		return 1
	}
	return 0
}

// shop is an application whose container store has the volume shop_data.
const shop = `{"items": [
 {"kind": "PersistentVolumeClaim", "metadata": {"name": "shop-data", "namespace": "shop", "annotations": {"io.toskose.name": "shop_data"}}},
 {"kind": "PersistentVolumeClaim", "metadata": {"name": "idle", "namespace": "shop"}},
 {"kind": "StatefulSet", "metadata": {"name": "store", "annotations": {"io.toskose.name": "Store"}}, "spec": {"replicas": 2, "template": {"spec": {%s
  "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "shop-data"}}], "containers": [{"image": "redis:7"}]}}}},
 {"kind": "Pod", "metadata": {"name": "store-0", "uid": "u1", "labels": {"app.kubernetes.io/name": "store"}}, "status": {"phase": "Running"},
  "spec": {"nodeName": "node2", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "shop-data"}}]}},
 {"kind": "Pod", "metadata": {"name": "old", "uid": "u2"}, "status": {"phase": "Succeeded"},
  "spec": {"nodeName": "node3", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "shop-data"}}]}}
 %s]}`

const shopsManager = `, {"kind": "Deployment", "metadata": {"name": "toskose-manager"}, "spec": {"template": {"spec": {"imagePullSecrets": [{"name": "pull"}],
  "containers": [{"image": "shop-manager:1", "env": [{"name": "TOSKOSE_MANAGER_PORT"}]}]}}}}`

const nobody = `"securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 1000},`

// clusterOf has the objects of an application on a cluster, and a pod that runs.
func clusterOf(t *testing.T, objects string, more map[string]string) (*cluster, string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"objects.json": objects, "pod.json": `{"status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}}`}
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "volume", "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := OnCluster(command.Cluster{Context: "staging", Environ: append(os.Environ(), state+"="+dir, "GORACE=atexit_sleep_ms=0")}, "shop", "shop", "/packaged").(*cluster)
	c.patience, c.pause = time.Minute, time.Millisecond
	return c, dir
}

// called are the commands of kubectl.
func called(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "--context staging --namespace shop ", "")
}

func TestTheVolumesOfAClusterAreItsClaims(t *testing.T) {
	t.Parallel()
	c, _ := clusterOf(t, fmt.Sprintf(shop, "", ""), nil)
	got, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Volume{{Name: "idle", ID: "idle", Users: []User{}}, {Name: "shop_data", ID: "shop-data", Machine: "node2", Users: []User{
		{Name: "store-0", ID: "u1", Node: "Store", Running: true, Service: "statefulset/store"}, {Name: "old", ID: "u2"},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if all, err := Namespaces(t.Context(), c.Cluster, "shop"); err != nil || !slices.Equal(all, []string{"shop"}) {
		t.Errorf("%q, %v", all, err)
	}
}

func TestTheVolumesOfAClusterIncludeExternalOnes(t *testing.T) {
	t.Parallel()
	c, dir := clusterOf(t, `{"items": [
 {"kind": "StatefulSet", "metadata": {"name": "store", "namespace": "shop", "annotations": {"io.toskose.external-volumes": "{\"data\":\"adopted\"}"}}},
 {"kind": "Pod", "metadata": {"name": "store-0", "uid": "u1", "labels": {"app.kubernetes.io/name": "store"}}, "status": {"phase": "Running"},
  "spec": {"nodeName": "node2", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "adopted"}}]}}]}`,
		map[string]string{"external.json": `{"items": [{"kind": "PersistentVolumeClaim", "metadata": {"name": "adopted"}}]}`})
	got, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Volume{{Name: "data", ID: "adopted", Machine: "node2", Users: []User{{Name: "store-0", ID: "u1", Node: "store", Running: true, Service: "statefulset/store"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if calls := called(t, dir); !strings.Contains(calls, "get persistentvolumeclaims --ignore-not-found adopted") {
		t.Errorf("it called %q", calls)
	}
	if all, err := Namespaces(t.Context(), c.Cluster, "shop"); err != nil || !slices.Equal(all, []string{"shop"}) {
		t.Errorf("%q, %v", all, err)
	}
}

func TestAPodCopiesWithTheRightsOfThoseWhoHaveTheVolume(t *testing.T) {
	t.Parallel()
	v := Volume{Name: "shop_data", ID: "shop-data", Machine: "node2"}
	for name, tt := range map[string]struct{ security, save, load string }{
		"root":   {"", `"capabilities":{"add":["DAC_OVERRIDE"],"drop":["ALL"]}`, `"capabilities":{"add":["CHOWN","DAC_OVERRIDE","FOWNER","FSETID","SETFCAP"],"drop":["ALL"]}`},
		"nobody": {nobody, `"capabilities":{"drop":["ALL"]}`, `"capabilities":{"drop":["ALL"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := clusterOf(t, fmt.Sprintf(shop, tt.security, shopsManager), nil)
			if err := os.WriteFile(filepath.Join(dir, "volume", "in", "file"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			var stream bytes.Buffer
			made := func(parts ...string) {
				t.Helper()
				data, err := os.ReadFile(filepath.Join(dir, "made.json"))
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range append(parts, `"image":"shop-manager:1"`, `"imagePullSecrets":[{"name":"pull"}]`, `"claimName":"shop-data"`, `"values":["node2"]`, `"seccompProfile":{"type":"RuntimeDefault"}`) {
					if !bytes.Contains(data, []byte(part)) {
						t.Errorf("the pod has no %s:\n%s", part, data)
					}
				}
				if nonRoot := bytes.Contains(data, []byte(`"fsGroup":1000,"fsGroupChangePolicy":"OnRootMismatch","runAsNonRoot":true,"runAsUser":1000,`)); nonRoot != (tt.security != "") {
					t.Errorf("the pod's user:\n%s", data)
				}
			}
			if err := c.Save(t.Context(), v, &stream); err != nil {
				t.Fatal(err)
			}
			made(tt.save, `"readOnly":true`)
			if err := os.RemoveAll(filepath.Join(dir, "volume", "in")); err != nil {
				t.Fatal(err)
			}
			if err := c.Load(t.Context(), v, "token", &stream, io.Discard); err != nil {
				t.Fatal(err)
			}
			made(tt.load, `"readOnly":false`)
			if data, err := os.ReadFile(filepath.Join(dir, "volume", "in", "file")); string(data) != "old" {
				t.Errorf("it has %q, %v", data, err)
			}
			if n := strings.Count(called(t, dir), "delete pod toskose-volume-shop-data --ignore-not-found --wait\n"); n != 2 {
				t.Errorf("the pod was removed %d times", n)
			}
		})
	}
}

func TestWhileAnApplicationDoesNotRunItsFolderSaysWhatCopies(t *testing.T) {
	t.Parallel()
	c, dir := clusterOf(t, `{"items": []}`, map[string]string{"folder.json": fmt.Sprintf(shop, "", shopsManager)})
	if err := c.Save(t.Context(), Volume{ID: "shop-data"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if all := called(t, dir); !strings.Contains(all, "apply --kustomize /packaged --dry-run=client") {
		t.Error(all)
	}
	c.dir = ""
	if err := c.Save(t.Context(), Volume{ID: "shop-data"}, io.Discard); err == nil || !strings.Contains(err.Error(), `is not in namespace "shop": deploy the application, or name its folder`) {
		t.Error(err)
	}
}

func TestWhyAPodDoesNotCopyIsSaid(t *testing.T) {
	t.Parallel()
	waits := func(reason string) string {
		return fmt.Sprintf(`{"status": {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": %q, "message": "so it is"}}}]}}`, reason)
	}
	for want, more := range map[string]map[string]string{
		`pod "toskose-volume-data" does not start: ImagePullBackOff: so it is`: {"pod.json": waits("ImagePullBackOff")},
		"has not started in 5s: 0/3 nodes are available": {
			"pod.json": `{"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}}`, "events.json": `{"items": []}`,
		},
		"has not started in 5s: Multi-Attach error":      {"pod.json": waits("ContainerCreating"), "events.json": `{"items": [{"message": "another"}, {"message": "Multi-Attach error"}]}`},
		"of an older toskose, which cannot copy":         {"pod.json": `{"status": {"phase": "Failed"}}`, "log": "usage: toskose-manager [--app FILE]"},
		"pod \"toskose-volume-data\" has ended":          {"pod.json": `{"status": {"phase": "Succeeded"}}`, "log": ""},
		"volume tar: no room":                            {"exec": "toskose-manager: volume tar: no room\ncommand terminated with exit code 1\n"},
		"cannot create a pod for it":                     {"create": "forbidden: exceeded quota"},
		"another `toskose volume` copies it: its pod is": {"create": `Error from server (AlreadyExists): pods "x" already exists`},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c, dir := clusterOf(t, fmt.Sprintf(shop, "", shopsManager), more)
			if strings.Contains(want, "5s") {
				c.patience = 5 * time.Second // in which a fake kubectl is asked more than once, on a busy machine, too
			}
			err := c.Save(t.Context(), Volume{ID: "data"}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			if gone := strings.Contains(called(t, dir), "delete pod toskose-volume-data"); gone == errors.Is(err, errOthers) {
				t.Errorf("the pod is removed: %v", gone)
			}
		})
	}
}

func TestAPodIsRemovedWhenItsCommandIsInterrupted(t *testing.T) {
	t.Parallel()
	c, dir := clusterOf(t, fmt.Sprintf(shop, "", shopsManager), nil)
	ctx, interrupt := context.WithCancel(t.Context())
	err := c.beside(ctx, Volume{ID: "data"}, program{writes: true}, func(string) error {
		interrupt()
		return c.exec(ctx, "toskose-volume-data", loading, strings.NewReader(""), io.Discard)
	})
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(called(t, dir), "delete pod toskose-volume-data --ignore-not-found --wait\n") {
		t.Errorf("%v:\n%s", err, called(t, dir))
	}
}

func TestAWorkloadIsStoppedAndHasItsReplicasAgain(t *testing.T) {
	t.Parallel()
	c, dir := clusterOf(t, fmt.Sprintf(shop, "", ""), nil)
	for _, pod := range []string{"store-0", "store-1"} {
		if err := c.Stop(t.Context(), User{Name: pod, Service: "statefulset/store"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := c.Start(t.Context(), User{Service: "statefulset/store"}); err != nil {
			t.Fatal(err)
		}
	}
	want := `get statefulset/store --output json
annotate --overwrite statefulset/store io.toskose.replicas=2
scale statefulset/store --replicas=0
wait --for=delete pod/store-0 --timeout 5m0s
get statefulset/store --output json
scale statefulset/store --replicas=0
wait --for=delete pod/store-1 --timeout 5m0s
scale statefulset/store --replicas=2
annotate statefulset/store io.toskose.replicas-
rollout status statefulset/store
`
	if diff := cmp.Diff(want, called(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := c.Stop(t.Context(), User{Name: "lonely"}); err == nil || !strings.Contains(err.Error(), "belongs to no workload that would start it again") {
		t.Error(err)
	}
	gone, _ := clusterOf(t, "", map[string]string{"wait": `Error from server (NotFound): pods "store-0" not found`})
	if err := gone.Stop(t.Context(), User{Name: "store-0", Service: "statefulset/store"}); err != nil {
		t.Error(err)
	}
}

// The operator would start a stopped workload of its own again, so its application is paused meanwhile.
func TestTheOperatorIsPausedWhileAWorkloadOfItsIsStopped(t *testing.T) {
	t.Parallel()
	c, dir := clusterOf(t, "", nil)
	for _, pod := range []string{"owned-0", "owned-1"} {
		if err := c.Stop(t.Context(), User{Name: pod, Service: "statefulset/owned"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(t.Context(), User{Service: "statefulset/owned"}); err != nil {
		t.Fatal(err)
	}
	want := `get statefulset/owned --output json
annotate applications.toskose.io --selector app.kubernetes.io/part-of=shop,app.kubernetes.io/managed-by=toskose --overwrite toskose.io/paused=true
annotate --overwrite statefulset/owned io.toskose.replicas=2
scale statefulset/owned --replicas=0
wait --for=delete pod/owned-0 --timeout 5m0s
get statefulset/owned --output json
scale statefulset/owned --replicas=0
wait --for=delete pod/owned-1 --timeout 5m0s
scale statefulset/owned --replicas=2
annotate statefulset/owned io.toskose.replicas-
rollout status statefulset/owned
annotate applications.toskose.io --selector app.kubernetes.io/part-of=shop,app.kubernetes.io/managed-by=toskose --overwrite toskose.io/paused-
`
	if diff := cmp.Diff(want, called(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestWhatAKilledCommandHasLeftOnAClusterIsUndone: pods beside volumes are removed, one that runs
// once it has ended, and a workload has its replicas again.
func TestWhatAKilledCommandHasLeftOnAClusterIsUndone(t *testing.T) {
	t.Parallel()
	scaled := strings.Replace(shop, `{"io.toskose.name": "Store"}}, "spec": {"replicas": 2`, `{"io.toskose.name": "Store", "io.toskose.replicas": "2"}}, "spec": {"replicas": 0`, 1)
	c, dir := clusterOf(t, fmt.Sprintf(scaled, "", ""), map[string]string{
		"left.json": `{"items": [{"kind": "Pod", "metadata": {"name": "one"}, "status": {"phase": "Failed"}}, {"kind": "Pod", "metadata": {"name": "two"}, "status": {"phase": "Running"}}]}`,
	})
	started, err := c.Tidy(t.Context())
	if err != nil || !slices.Equal(started, []string{"statefulset/store"}) {
		t.Errorf("%q, %v", started, err)
	}
	want := `delete pod one --ignore-not-found --wait
wait pod/two --for=jsonpath={.status.phase}=Succeeded --timeout 1m30s
delete pod two --ignore-not-found --wait
scale statefulset/store --replicas=2
annotate statefulset/store io.toskose.replicas-
rollout status statefulset/store
`
	var did []string
	for line := range strings.Lines(called(t, dir)) {
		if !strings.HasPrefix(line, "get ") {
			did = append(did, line)
		}
	}
	if diff := cmp.Diff(want, strings.Join(did, "")); diff != "" {
		t.Error(diff)
	}
	busy, _ := clusterOf(t, `{"items": []}`, map[string]string{
		"left.json": `{"items": [{"kind": "Pod", "metadata": {"name": "two"}, "status": {"phase": "Running"}}]}`, "wait": "error: timed out waiting for the condition on pods/two",
	})
	if _, err := busy.Tidy(t.Context()); err == nil || !strings.Contains(err.Error(), "another `toskose volume` copies a volume: pod \"two\" still runs") {
		t.Error(err)
	}
}

// TestANoteOfARestoreIsAnAnnotationOfItsClaim.
func TestANoteOfARestoreIsAnAnnotationOfItsClaim(t *testing.T) {
	t.Parallel()
	c, dir := clusterOf(t, `{"items": []}`, map[string]string{"claim.json": `{"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "annotations": {"io.toskose.restore": "t restored"}}}`})
	v := Volume{Name: "data", ID: "data"}
	if n, err := c.Note(t.Context(), v); err != nil || n != (Note{Token: "t", Restored: true}) {
		t.Errorf("%+v, %v", n, err)
	}
	for _, n := range []Note{{Token: "t"}, {Token: "t", Restored: true}, {}} {
		if err := c.SetNote(t.Context(), v, n); err != nil {
			t.Fatal(err)
		}
	}
	want := `get persistentvolumeclaim data --output json
annotate --overwrite persistentvolumeclaim data io.toskose.restore=t
annotate --overwrite persistentvolumeclaim data io.toskose.restore=t restored
annotate --overwrite persistentvolumeclaim data io.toskose.restore-
`
	if diff := cmp.Diff(want, called(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestAPauseThatAKilledCommandHasLeftEnds(t *testing.T) {
	t.Parallel()
	owned := strings.Replace(shop, `{"name": "store", "annotations"`, `{"name": "store", "ownerReferences": [{"kind": "Component", "controller": true}], "annotations"`, 1)
	c, dir := clusterOf(t, fmt.Sprintf(owned, "", ""), map[string]string{"left.json": `{"items": []}`})
	if _, err := c.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := called(t, dir); !strings.HasSuffix(all, "--overwrite toskose.io/paused-\n") {
		t.Errorf("the operator is still paused:\n%s", all)
	}
}

func TestTheFolderOfAnApplicationBelowALevelSaysWhatCopies(t *testing.T) {
	t.Parallel()
	const folder = `{"items": [{"kind": "Application", "metadata": {"name": "shop"}, "spec": {"components": [{"name": "toskose-manager", "workload":
  {"kind": "Deployment", "metadata": {"name": "toskose-manager"}, "spec": {"template": {"spec": {"containers": [{"image": "shop-manager:1", "env": [{"name": "TOSKOSE_MANAGER_PORT"}]}]}}}}}]}}]}`
	c, _ := clusterOf(t, `{"items": []}`, map[string]string{"folder.json": folder})
	c.dir = t.TempDir()
	manager, _, err := c.template(t.Context(), "shop-data")
	if err != nil || manager.Metadata.Name != "toskose-manager" {
		t.Errorf("the manager is %q: %v", manager.Metadata.Name, err)
	}
}
