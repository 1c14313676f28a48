package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// rolledOut reads objects as kubectl prints them, one a line.
func rolledOut(t *testing.T, lines string) rollout {
	t.Helper()
	var r rollout
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		var o command.Object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch o.Kind {
		case "Pod":
			r.pods = append(r.pods, o)
		case "Event":
			r.events = append(r.events, o)
		case "PersistentVolumeClaim":
			r.claims = append(r.claims, o)
		default:
			r.workloads = append(r.workloads, o)
		}
	}
	return r
}

const storeLabels = `"labels": {"app.kubernetes.io/name": "store"}`

// deployment is a Deployment named store, with this status.
func deployment(status string) string {
	return fmt.Sprintf(`{"kind": "Deployment", "metadata": {"name": "store", "uid": "w", "generation": 2, %s}, "spec": {"replicas": 1}, "status": {%s}}`+"\n", storeLabels, status)
}

// pod is one of store's that is not ready, with these statuses of its container.
func pod(container, more string) string {
	return fmt.Sprintf(`{"kind": "Pod", "metadata": {"name": "store-1", "uid": "p", %s}, "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}%s], "containerStatuses": [%s]}}`+"\n",
		storeLabels, more, container)
}

func event(kind, uid, reason, message string, count int) string {
	return fmt.Sprintf(`{"kind": "Event", "reason": %q, "message": %q, "count": %d, "involvedObject": {"kind": %q, "name": "store-1", "uid": %q}}`+"\n", reason, message, count, kind, uid)
}

const incomplete = `"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1`

func TestAWorkloadIsCompleteWhenAllItsPodsAreNewAndReady(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status string
		want   bool
	}{
		"all of it":               {incomplete + `, "readyReplicas": 1, "availableReplicas": 1`, true},
		"none is ready":           {incomplete, false},
		"ready for too short":     {incomplete + `, "readyReplicas": 1`, false},
		"a change is not seen":    {`"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1`, false},
		"an old pod is there yet": {`"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2`, false},
		"only an old pod is":      {`"observedGeneration": 2, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1`, false},
	} {
		if got := complete(rolledOut(t, deployment(tt.status)).workloads[0]); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	const stateful = `{"kind": "StatefulSet", "metadata": {"generation": 1}, "spec": {"replicas": 0}, "status": {"observedGeneration": 1}}`
	if !complete(rolledOut(t, stateful).workloads[0]) {
		t.Error("no replica is wanted, and it is not complete")
	}
}

func TestWhatDoesNotComeUpIsExplained(t *testing.T) {
	t.Parallel()
	const ended = `"terminated": {"exitCode": 7, "reason": "Error"}`
	for name, tt := range map[string]struct {
		objects string
		why     string
		times   int
	}{
		"crashes again and again": {
			pod(`{"restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 1m"}}, "lastState": {`+ended+`}}`, "") +
				event("Pod", "p", "BackOff", "Back-off restarting failed container", 9),
			"pod store-1 was restarted 4 times: it ended with code 7 (Error)", 4,
		},
		"has just ended": {
			pod(`{"restartCount": 0, "state": {`+ended+`}}`, ""),
			"pod store-1 is not up: it ended with code 7 (Error)", 0,
		},
		"has just ended once more": {
			pod(`{"restartCount": 2, "state": {`+ended+`}, "lastState": {`+ended+`}}`, ""),
			"pod store-1 was restarted 2 times: it ended with code 7 (Error)", 2,
		},
		"runs after a crash": {
			pod(`{"restartCount": 1, "state": {"running": {"startedAt": "2999-01-01T00:00:00Z"}}, "lastState": {`+ended+`}}`, ""),
			"pod store-1 was restarted 1 times: it ended with code 7 (Error)", 1,
		},
		"runs long after a crash": {
			pod(`{"restartCount": 1, "state": {"running": {"startedAt": "2001-01-01T00:00:00Z"}}, "lastState": {`+ended+`}}`, ""),
			"pod store-1 runs and is not ready", 0,
		},
		"is not ready": {
			pod(`{"state": {"running": {}}}`, "") + event("Pod", "p", "Unhealthy", "Readiness probe failed: refused\n", 3),
			"pod store-1 runs and is not ready: Readiness probe failed: refused", 0,
		},
		"has no image": {
			pod(`{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x:1\""}}}`, "") +
				event("Pod", "p", "Failed", `Failed to pull image "x:1": not found`, 3) + event("Pod", "p", "Failed", "Error: ErrImagePull", 3) +
				event("Pod", "another's", "Failed", `Failed to pull image "x:1": not found`, 9),
			`pod store-1 waits: ImagePullBackOff: Back-off pulling image "x:1": Error: ErrImagePull`, 3,
		},
		"names no image": {
			pod(`{"state": {"waiting": {"reason": "InvalidImageName", "message": "bad"}}}`, ""),
			"pod store-1 InvalidImageName: bad", backend.Hopeless,
		},
		"has no volume": {
			pod("", `, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available."}`) +
				`{"kind": "PersistentVolumeClaim", "metadata": {"name": "dbvolume"}, "status": {"phase": "Pending"}}` + "\n" +
				`{"kind": "PersistentVolumeClaim", "metadata": {"name": "other"}, "status": {"phase": "Bound"}}`,
			"pod store-1 is on no node: 0/1 nodes are available. (without a volume yet: dbvolume)", 0,
		},
		"cannot mount": {
			pod(`{"state": {"waiting": {"reason": "ContainerCreating"}}}`, "") + event("Pod", "p", "FailedMount", `secret "pw" not found`, 2),
			`pod store-1 waits: ContainerCreating: secret "pw" not found`, 0,
		},
		"waits for a node": {pod("", ""), "pod store-1 is pending", 0},
		"another's pod":    {strings.Replace(pod("", ""), `"app.kubernetes.io/name": "store"`, `"app.kubernetes.io/name": "web"`, 1), "pods are being replaced", 0},
		"a pod that ends":  {strings.Replace(pod("", ""), `"uid"`, `"deletionTimestamp": "2026-01-01T00:00:00Z", "uid"`, 1), "pods are being replaced", 0},
	} {
		got := rolledOut(t, deployment(incomplete)+tt.objects).failures()
		want := []backend.Failure{{Service: "store", Why: tt.why, Times: tt.times}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatIsReadyBetweenTwoCrashesIsNotUp(t *testing.T) {
	t.Parallel()
	complete := deployment(incomplete + `, "readyReplicas": 1, "availableReplicas": 1`)
	for since, want := range map[string][]backend.Failure{
		"2999-01-01T00:00:00Z": {{Service: "store", Why: "pod store-1 was restarted 3 times: it ended with code 7 (Error)", Times: 3}},
		"2001-01-01T00:00:00Z": nil,
	} {
		ready := strings.Replace(pod(`{"ready": true, "restartCount": 3, "state": {"running": {"startedAt": "`+since+`"}}, "lastState": {"terminated": {"exitCode": 7, "reason": "Error"}}}`, ""),
			`"status": "False"`, `"status": "True"`, 1)
		if diff := cmp.Diff(want, rolledOut(t, complete+ready).failures()); diff != "" {
			t.Errorf("it runs since %s: %s", since, diff)
		}
	}
}

func TestPodsOfBeforeDoNotSayThatWhatIsDeployedNowIsHopeless(t *testing.T) {
	t.Parallel()
	r := rolledOut(t, deployment(incomplete)+pod(`{"restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}`, ""))
	if f := r.failures(); len(f) != 1 || f[0].Times != 5 {
		t.Errorf("a new pod: %+v", f)
	}
	r.past = map[string]bool{"p": true}
	if f := r.failures(); len(f) != 1 || f[0].Times != 0 || !strings.Contains(f[0].Why, "restarted 5 times") {
		t.Errorf("a pod that was there before: %+v", f)
	}
}

func TestEachEndCountsWhereAllElseHasBeenUpSinceBefore(t *testing.T) {
	t.Parallel()
	const up = incomplete + `, "readyReplicas": 1, "availableReplicas": 1`
	other := func(objects string) string {
		return strings.NewReplacer(`"store`, `"db`, `"p"`, `"d"`).Replace(objects)
	}
	runs := func(since string) string {
		return pod(`{"ready": true, "restartCount": 1, "state": {"running": {"startedAt": "`+since+`"}}}`, "")
	}
	db := other(deployment(up) + runs("2001-01-01T00:00:00Z"))
	backoff := pod(`{"restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}`, "")
	for name, tt := range map[string]struct {
		objects string
		past    []string
		times   int
	}{
		"it waits to be restarted":          {db + backoff, []string{"d"}, 3},
		"it has just ended":                 {db + pod(`{"restartCount": 2, "state": {"terminated": {"exitCode": 1}}}`, ""), []string{"d"}, 3},
		"it has just been started":          {db + pod(`{"restartCount": 2, "state": {"running": {"startedAt": "2999-01-01T00:00:00Z"}}}`, ""), []string{"d"}, 2},
		"its database is new":               {db + backoff, []string{"another"}, 2},
		"its database was just restarted":   {other(deployment(up)+runs("2999-01-01T00:00:00Z")) + backoff, []string{"d"}, 2},
		"its database is being replaced":    {other(deployment(incomplete)) + backoff, []string{"d"}, 2},
		"only the manager is being so":      {db + strings.ReplaceAll(deployment(incomplete), `"store"`, `"manager"`) + backoff, []string{"d"}, 3},
		"nothing of it was there before":    {backoff, nil, 2},
		"it waits for what it is mounted":   {db + pod(`{"restartCount": 2, "state": {"waiting": {"reason": "ContainerCreating"}}}`, ""), []string{"d"}, 2},
		"it is a pod that was there before": {db + backoff, []string{"d", "p"}, 0},
	} {
		r := rolledOut(t, deployment(incomplete)+tt.objects)
		r.manager, r.past = "manager", map[string]bool{}
		for _, id := range tt.past {
			r.past[id] = true
		}
		i := slices.IndexFunc(r.failures(), func(f backend.Failure) bool { return f.Service == "store" })
		if i < 0 || r.failures()[i].Times != tt.times {
			t.Errorf("%s: %+v", name, r.failures())
		}
	}
}

func TestPodsThatAreRefusedAreExplained(t *testing.T) {
	t.Parallel()
	refused := deployment(`"observedGeneration": 2, "conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "pods are forbidden"}]`)
	for name, tt := range map[string]struct {
		objects string
		why     string
		times   int
	}{
		"by a condition":                   {refused, "FailedCreate: pods are forbidden", 0},
		"and events":                       {refused + event("ReplicaSet", "r", "FailedCreate", "violates PodSecurity", 5), "FailedCreate: violates PodSecurity", 5},
		"another's events":                 {deployment(incomplete) + event("ReplicaSet", "r", "FailedCreate", "violates PodSecurity", 5), "pods are being replaced", 0},
		"a StatefulSet's are of its own":   {deployment(incomplete) + event("StatefulSet", "w", "FailedCreate", "violates PodSecurity", 2), "FailedCreate: violates PodSecurity", 2},
		"what has no count happened, once": {deployment(incomplete) + event("StatefulSet", "w", "FailedCreate", "quota", 0), "FailedCreate: quota", 1},
	} {
		want := []backend.Failure{{Service: "store", Why: tt.why, Times: tt.times}}
		if diff := cmp.Diff(want, rolledOut(t, tt.objects).failures()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatHasNoProbeHasToRunForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testWhatHasNoProbeHasToRunForAMoment) // in no time
}

func testWhatHasNoProbeHasToRunForAMoment(t *testing.T) {
	t.Helper()
	complete := deployment(incomplete + `, "readyReplicas": 1, "availableReplicas": 1`)
	now, long := time.Now().Add(-time.Millisecond), time.Unix(0, 0)
	const probe = `, "readinessProbe": {"exec": {"command": ["ready"]}}`
	young := []backend.Failure{{Service: "store", Why: "has only just started", Young: true}}
	for name, tt := range map[string]struct {
		workload, probe string
		since           time.Time
		want            []backend.Failure
	}{
		"has only just started": {complete, "", now, young},
		"runs for long":         {complete, "", long, nil},
		"is probed":             {complete, probe, now, nil},
		"is not complete":       {deployment(incomplete), "", now, nil}, // and is a failure for that
	} {
		running := pod(fmt.Sprintf(`{"name": "store", "ready": true, "state": {"running": {"startedAt": %q}}}`, tt.since.Format(time.RFC3339Nano)), "")
		running = strings.Replace(running, `"status": {`, `"spec": {"containers": [{"name": "store"`+tt.probe+`}]}, "status": {`, 1)
		if diff := cmp.Diff(tt.want, rolledOut(t, tt.workload+running).justStarted()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// job is a Job of store, with this status.
func job(status string) string {
	return fmt.Sprintf(`{"kind": "Job", "metadata": {"name": "store-1234", "uid": "w", %s}, "spec": {"completions": 3}, "status": {%s}}`+"\n", storeLabels, status)
}

// podEnded is a pod of a Job whose container has ended.
func podEnded(name, phase string, code int) string {
	return fmt.Sprintf(`{"kind": "Pod", "metadata": {"name": %q, "uid": %q, %s}, "status": {"phase": %q, "conditions": [{"type": "Ready", "status": "False"}],`+
		` "containerStatuses": [{"restartCount": 0, "state": {"terminated": {"exitCode": %d, "reason": "Error"}}}]}}`+"\n", name, name, storeLabels, phase, code)
}

func TestAJobIsUpWhileItRunsAndWhenItHasDoneItsWork(t *testing.T) {
	t.Parallel()
	first, second, starting := podEnded("store-0", "Succeeded", 0), podEnded("store-1", "Failed", 7), `{"kind": "Pod", "metadata": {"name": "store-0a", `+storeLabels+`}, "status": {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}}`+"\n"
	for name, tt := range map[string]struct {
		objects string
		want    []backend.Failure
		blamed  string
	}{
		"runs":                 {job(`"active": 1, "ready": 1`), nil, ""},
		"one of three is done": {job(`"active": 1, "ready": 1, "succeeded": 1`) + first, nil, ""},
		"is complete":          {job(`"ready": 0, "succeeded": 3, "conditions": [{"type": "Complete", "status": "True"}]`) + first, nil, ""},
		"tries again": {
			job(`"active": 1, "ready": 0, "failed": 1`) + first + starting + second,
			[]backend.Failure{{Service: "store", Why: "pod store-0a waits: ContainerCreating; pod store-1 is not up: it ended with code 7 (Error)", Job: true}},
			"store-1",
		},
		"tries again, however often it has": {
			job(`"active": 1, "ready": 0, "failed": 5, "conditions": [{"type": "Failed", "status": "False"}]`) + second + second + second + second + second,
			[]backend.Failure{{Service: "store", Why: strings.TrimSuffix(strings.Repeat("pod store-1 is not up: it ended with code 7 (Error); ", 5), "; "), Job: true}},
			"store-1",
		},
		"has no pod yet": {job(""), []backend.Failure{{Service: "store", Why: "pods are being replaced", Job: true}}, ""},
		"has failed": {
			job(`"ready": 0, "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True", "reason": "FailedIndexes", "message": "Job has failed indexes"}]`) + first + second,
			[]backend.Failure{{Service: "store", Why: "FailedIndexes: Job has failed indexes; pod store-1 is not up: it ended with code 7 (Error)", Final: true, Job: true}},
			"store-1",
		},
		"has failed, while another index runs": {
			job(`"ready": 1, "conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]`),
			[]backend.Failure{{Service: "store", Why: "DeadlineExceeded", Final: true, Job: true}},
			"",
		},
	} {
		r := rolledOut(t, tt.objects)
		if diff := cmp.Diff(tt.want, r.failures()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if up := complete(r.workloads[0]); up != (len(tt.want) == 0) {
			t.Errorf("%s: up %v", name, up)
		}
		if p, ok := r.blamed("store"); p.Metadata.Name != tt.blamed || ok != (tt.blamed != "") {
			t.Errorf("%s: the log of %q is shown", name, p.Metadata.Name)
		}
	}
}

func TestOfANodeWhoseUnitIsSilentAReadyPodIsAsked(t *testing.T) {
	t.Parallel()
	up := strings.Replace(pod(`{"ready": true, "state": {"running": {"startedAt": "2001-01-01T00:00:00Z"}}}`, ""), `"status": "False"`, `"status": "True"`, 1)
	r := rolledOut(t, deployment(incomplete+`, "readyReplicas": 1, "availableReplicas": 1`)+up)
	if p, ok := r.silent("store"); !ok || p.Metadata.Name != "store-1" {
		t.Errorf("asked is %q", p.Metadata.Name)
	}
	if p, ok := r.silent("another"); ok {
		t.Errorf("asked of another is %q", p.Metadata.Name)
	}
}
