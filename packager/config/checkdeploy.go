package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/located"
)

// The values that Compose 3.7 defines.
var (
	conditions      = []string{"none", "on-failure", "any"}
	orders          = []string{"stop-first", "start-first"}
	updateFailures  = []string{"continue", "rollback", "pause"}
	rollbackFailure = []string{"continue", "pause"}
)

var (
	memoryForm     = regexp.MustCompile(`^(?i)([0-9]+(?:\.[0-9]+)?) ?(b|k|kb|m|mb|g|gb)?$`)
	constraintForm = regexp.MustCompile(`^\s*([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*)\s*(==|!=)\s*(\S.*?)\s*$`)
)

// Bytes returns an amount of memory in bytes, or false.
func Bytes(memory string) (int64, bool) {
	m := memoryForm.FindStringSubmatch(memory)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]float64{"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
	bytes := n * unit[strings.TrimSuffix(strings.ToLower(m[2]), "b")]
	return int64(bytes), err == nil && bytes >= 1 && bytes < 1<<62
}

// Constraint splits a constraint of a placement.
func Constraint(text string) (key, value string, equal, ok bool) {
	m := constraintForm.FindStringSubmatch(text)
	if m == nil {
		return "", "", false, false
	}
	return m[1], m[3], m[2] == "==", true
}

func (d *decoder) checkDeploy(path string, c Deploy) {
	d.notNegative(path+".replicas", c.Replicas)
	for kind, a := range map[string]Amounts{"limits": c.Resources.Limits, "reservations": c.Resources.Reservations} {
		at := path + ".resources." + kind
		if n, err := strconv.ParseFloat(a.CPUs, 64); a.CPUs != "" && (err != nil || !(n > 0 && n < 1e6)) {
			d.ReportAt(at+".cpus", "%q is not a number of processors", a.CPUs)
		}
		if _, ok := Bytes(a.Memory); a.Memory != "" && !ok {
			d.ReportAt(at+".memory", "%q is not an amount of memory: a number and b, k, m or g", a.Memory)
		}
	}
	for i, text := range c.Placement.Constraints {
		if _, _, _, ok := Constraint(text); !ok {
			d.ReportAt(fmt.Sprintf("%s.placement.constraints.%d", path, i), "%q is not KEY==VALUE or KEY!=VALUE", text)
		}
	}
	for i, p := range c.Placement.Preferences {
		if at := fmt.Sprintf("%s.placement.preferences.%d", path, i); p.Spread == "" && !d.Bad[at] {
			d.ReportAt(at, "needs spread, the label to spread over")
		}
	}
	restart := path + ".restart_policy"
	d.oneOf(restart+".condition", c.RestartPolicy.Condition, conditions)
	d.duration(restart+".delay", c.RestartPolicy.Delay)
	d.duration(restart+".window", c.RestartPolicy.Window)
	d.notNegative(restart+".max_attempts", c.RestartPolicy.MaxAttempts)
	d.checkUpdate(path+".update_config", c.UpdateConfig, updateFailures)
	d.checkUpdate(path+".rollback_config", c.RollbackConfig, rollbackFailure)
}

func (d *decoder) checkUpdate(path string, u Update, failures []string) {
	d.notNegative(path+".parallelism", u.Parallelism)
	d.duration(path+".delay", u.Delay)
	d.duration(path+".monitor", u.Monitor)
	d.oneOf(path+".failure_action", u.FailureAction, failures)
	d.oneOf(path+".order", u.Order, orders)
	if r := u.MaxFailureRatio; r != nil && !(*r >= 0 && *r <= 1) {
		d.ReportAt(path+".max_failure_ratio", "%v is not between 0 and 1", *r)
	}
}

func (d *decoder) notNegative(path string, n *int) {
	if n != nil && *n < 0 {
		d.ReportAt(path, "%d is less than 0", *n)
	}
}

func (d *decoder) duration(path, text string) {
	if text == "" {
		return
	}
	if n, err := time.ParseDuration(text); err != nil || n < 0 {
		d.ReportAt(path, "%q is not a duration: write 10s or 1m30s", text)
	}
}

// volumeForm matches the names that Docker engines allow for volumes, which include all names of claims on Kubernetes.
var volumeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]+$`)

// maxVolumeName is the maximum length of a file's name, and of the name of a Kubernetes object.
const maxVolumeName = 253

// checkVolumes reports volumes that the application does not have, and contradicting settings.
func (d *decoder) checkVolumes(volumes map[string]Volume, target *Target) {
	for _, name := range located.Keys(volumes) {
		v, at := volumes[name], "volumes."+name
		switch {
		case v.Name != "" && !v.External:
			d.ReportAt(at+".name", "is the name of an existing volume, which needs external: true; the application names its own volumes itself")
		case v.Name != "" && (len(v.Name) > maxVolumeName || !volumeForm.MatchString(v.Name)):
			d.ReportAt(at+".name", "%q is not the name of a volume: 2 to %d letters, digits, '_', '.' and '-'", v.Name, maxVolumeName)
		}
		for _, key := range []string{"driver", "driver_opts"} {
			if v.External && d.has(at+"."+key) {
				d.ReportAt(at+"."+key, "cannot be set for an external volume: it exists already, with its own driver and options")
			}
		}
		if device := v.DriverOpts["device"]; IsBind(v.DriverOpts) && device != "" && !path.IsAbs(device) {
			d.ReportAt(at+".driver_opts.device", "%q is not an absolute path: no folder of the host is known that it could be relative to", device)
		}
		if target != nil && !slices.Contains(target.Volumes, name) {
			d.ReportAt("volumes."+name, "the application has no volume of this name%s", located.DidYouMean(name, target.Volumes))
		}
	}
}

// IsBind reports whether the options of a volume mount a path of the host.
func IsBind(options map[string]string) bool {
	kinds := strings.Split(options["o"], ",")
	return slices.Contains(kinds, "bind") || slices.Contains(kinds, "rbind")
}

// checkAllowed reports allowed paths of the host that are not absolute.
func (d *decoder) checkAllowed(paths []string) {
	for i, one := range paths {
		if at := fmt.Sprintf("allow_host.%d", i); !d.Bad[at] && !path.IsAbs(one) {
			d.ReportAt(at, "%q is not an absolute path", one)
		}
	}
}

// owns reports whether a name begins with a component or container of the application.
func (t *Target) owns(name string) bool {
	owner, _, _ := strings.Cut(name, ".")
	_, isComponent := t.Components[owner]
	return isComponent || slices.ContainsFunc(t.Nodes, func(n TargetNode) bool { return n.Name == owner })
}

// checkSecrets reports names that are neither an input nor a variable.
func (d *decoder) checkSecrets(secrets []string, target *Target) {
	if target == nil {
		return
	}
	for i, name := range secrets {
		path := fmt.Sprintf("secrets.%d", i)
		switch {
		case d.Bad[path]:
		case slices.Contains(secrets[:i], name):
			d.ReportAt(path, "%q is listed twice", name)
		case !slices.Contains(target.Values, name) && located.DidYouMean(name, target.Values) == "" && target.owns(name):
			d.ReportAt(path, "%q has no value: give the application's inputs theirs with -i NAME=VALUE or --inputs FILE, or check the name", name)
		case !slices.Contains(target.Values, name):
			d.ReportAt(path, "%q is neither COMPONENT.INPUT nor CONTAINER.VARIABLE of the application%s", name, located.DidYouMean(name, target.Values))
		}
	}
}
