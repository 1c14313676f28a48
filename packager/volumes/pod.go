package volumes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/command"
)

// holding is the program that keeps a pod running while another program copies in it. The copying program is not the main
// process, because its output is the volume's data and must not be logged.
var holding = []string{"volume", "hold"}

// The capabilities that Kubernetes' `baseline` level allows, which do not include DAC_READ_SEARCH.
var (
	toSaveInPod = []string{"DAC_OVERRIDE"} // the volume is mounted read-only
	toLoadInPod = toLoad
)

type values map[string]any

// pod returns a pod that mounts the volume. If the volume is in use, the pod runs on the same machine. It gets the privileges
// of the containers that mount the volume: root's, or those of their user.
func pod(name string, v Volume, manager command.Object, users []command.Object, p program, app string) values {
	from := manager.Spec.Template.Spec
	spec := values{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false, "terminationGracePeriodSeconds": 5,
		"volumes": []values{{"name": "volume", "persistentVolumeClaim": values{"claimName": v.ID}}},
	}
	if len(from.PullSecrets) > 0 {
		spec["imagePullSecrets"] = from.PullSecrets
	}
	if v.Machine != "" { // other machines may be unable to mount it; the pod may run where its container runs
		spec["affinity"] = values{"nodeAffinity": values{"requiredDuringSchedulingIgnoredDuringExecution": values{"nodeSelectorTerms": []values{
			{"matchFields": []values{{"key": "metadata.name", "operator": "In", "values": []string{v.Machine}}}},
		}}}}
		spec["tolerations"] = []values{{"operator": "Exists", "effect": "NoSchedule"}}
	}
	capabilities := values{"drop": []string{"ALL"}}
	who := values{"seccompProfile": values{"type": "RuntimeDefault"}, "runAsUser": 0, "runAsGroup": 0}
	if as, ok := nonRootSpec(users); ok {
		who["runAsNonRoot"], who["runAsUser"] = true, as.Security.User
		delete(who, "runAsGroup")
		if as.Security.Group != nil {
			who["runAsGroup"] = as.Security.Group
		}
		if as.Security.FSGroup != nil {
			who["fsGroup"], who["fsGroupChangePolicy"] = as.Security.FSGroup, "OnRootMismatch"
		}
	} else if p.writes {
		capabilities["add"] = toLoadInPod
	} else {
		capabilities["add"] = toSaveInPod
	}
	spec["securityContext"] = who
	env := []values{}
	for _, variable := range p.env {
		name, value, _ := strings.Cut(variable, "=")
		env = append(env, values{"name": name, "value": value})
	}
	spec["containers"] = []values{{
		"name": "volume", "image": from.Containers[0].Image, "imagePullPolicy": "IfNotPresent",
		"command": []string{packager.ManagerPath}, "args": holding, "env": env,
		"securityContext": values{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": capabilities},
		"volumeMounts":    []values{{"name": "volume", "mountPath": mounted, "readOnly": !p.writes}},
	}}
	return values{
		"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": values{"name": name, "labels": values{"app.kubernetes.io/managed-by": "toskose", labelCopies: v.ID, packager.LabelApp: app}},
	}
}

// nonRootSpec returns the pod specification of a container that mounts the volume, if none of those containers runs as root.
func nonRootSpec(users []command.Object) (as command.PodSpec, ok bool) {
	for _, u := range users {
		as = u.Spec.Template.Spec
		if !as.Security.NonRoot || as.Security.User == nil {
			return as, false
		}
	}
	return as, len(users) > 0
}

// beside calls do while a pod that mounts the volume is running, and always removes the pod afterwards. The pod's name is
// derived from the volume, because two concurrent copies would conflict.
func (c *cluster) beside(ctx context.Context, v Volume, p program, do func(pod string) error) (err error) {
	manager, users, err := c.template(ctx, v.ID)
	if err != nil {
		return notStarted{err}
	}
	name := "toskose-volume-" + v.ID
	manifest, err := json.Marshal(pod(name, v, manager, users, p, c.about.App))
	if err != nil {
		return fmt.Errorf("cannot encode a pod: %w", err)
	}
	if err := c.removeEnded(ctx, name); err != nil {
		return notStarted{err}
	}
	defer func() {
		if errors.Is(err, errOthers) {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, c.remove(ctx, name))
	}()
	err = c.Run(ctx, bytes.NewReader(manifest), nil, "create", "--filename", "-")
	if why := new(command.Error); errors.As(err, &why) && strings.Contains(why.Output, "AlreadyExists") {
		return notStarted{fmt.Errorf("%w: its pod is %q, which ends a minute after it", errOthers, name)}
	}
	if err != nil {
		return notStarted{fmt.Errorf("cannot create a pod for it: %w", err)}
	}
	if err := c.started(ctx, name); err != nil {
		return notStarted{err}
	}
	return do(name)
}

var errOthers = errors.New("another `toskose volume` copies it")

func (c *cluster) remove(ctx context.Context, pod string) error {
	if err := c.Run(ctx, nil, nil, "delete", "pod", pod, "--ignore-not-found", "--wait"); err != nil {
		return fmt.Errorf("cannot remove pod %q: %w", pod, err)
	}
	return nil
}

// removeEnded removes a pod that a killed command left behind.
func (c *cluster) removeEnded(ctx context.Context, pod string) error {
	err := c.Run(ctx, nil, nil, "delete", "pods", "--field-selector", "metadata.name="+pod+",status.phase!=Pending,status.phase!=Running", "--wait")
	if err != nil {
		return fmt.Errorf("cannot remove pod %q, which has ended: %w", pod, err)
	}
	return nil
}

// started waits until a pod is running. The error explains why it is not.
func (c *cluster) started(ctx context.Context, pod string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, fmt.Errorf("pod %q has not started in %s", pod, c.patience))
	defer cancel()
	ticker := time.NewTicker(c.pause)
	defer ticker.Stop()
	why := ""
	for {
		p, err := c.Object(ctx, "get", "pod", pod)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			var final bool
			why, final = waits(p)
			switch {
			case p.HasEnded():
				return c.ended(ctx, pod)
			case final:
				return fmt.Errorf("pod %q does not start: %s", pod, why)
			case runs(p):
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return c.late(ctx, pod, why)
		case <-ticker.C:
		}
	}
}

// late explains why a pod has not started in time.
func (c *cluster) late(ctx context.Context, pod, why string) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	events, failed := c.Objects(ctx, "get", "events", "--field-selector", "type=Warning,involvedObject.name="+pod)
	if failed == nil && len(events) > 0 {
		why = events[len(events)-1].Message // reading events may be forbidden
	}
	return fmt.Errorf("%w: %s", err, cmp.Or(why, "the cluster gives no reason"))
}

// ended explains why a pod that should keep running has exited.
func (c *cluster) ended(ctx context.Context, pod string) error {
	said, _ := c.Output(ctx, "logs", pod) // the log is optional
	return explained(fmt.Errorf("pod %q has ended", pod), string(said))
}

// exec runs the manager's program in a pod.
func (c *cluster) exec(ctx context.Context, pod string, args []string, in io.Reader, out io.Writer) error {
	words := []string{"exec", "--quiet"}
	if in != nil {
		words = append(words, "--stdin")
	}
	words = append(append(words, pod, "--", packager.ManagerPath), args...)
	err := c.runWithInput(ctx, in, out, words...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if why := new(command.Error); errors.As(err, &why) {
		said, _, _ := strings.Cut(why.Output, "\ncommand terminated with exit code ")
		return explained(fmt.Errorf("its pod has failed (%w)", why.Err), said)
	}
	return err
}

// runWithInput runs kubectl with an operating system pipe as stdin. The pipe breaks when kubectl exits, so copying to it does
// not block.
func (c *cluster) runWithInput(ctx context.Context, in io.Reader, out io.Writer, words ...string) error {
	if in == nil {
		return c.Run(ctx, nil, out, words...)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(to, in) // kubectl reports why it stopped reading
		to.Close()
	}()
	err = c.Run(ctx, from, out, words...)
	from.Close()
	if closer, ok := in.(io.Closer); ok {
		closer.Close()
	}
	<-copied
	return err
}

func runs(pod command.Object) bool {
	all := pod.Status.Containers
	return len(all) > 0 && all[0].State.Running != nil
}

// waits returns what a pod is waiting for, and whether waiting is pointless.
func waits(pod command.Object) (text string, final bool) {
	if c, ok := pod.Condition("PodScheduled"); ok && c.Status == "False" {
		text = c.Message
	}
	for _, c := range pod.Status.Containers {
		w := c.State.Waiting
		if w == nil || w.Reason == "ContainerCreating" {
			continue
		}
		switch w.Reason {
		case "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			final = true
		}
		text = strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
	}
	return text, final
}
