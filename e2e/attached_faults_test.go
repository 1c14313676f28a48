package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
)

// attachedDeployment is one application of which each of attachable is a service, attached.
type attachedDeployment interface {
	// within runs a script in the one container of a service, and returns its output.
	within(t *testing.T, service, script string, args ...string) string
	// incarnation returns the ID and the start time of that container.
	incarnation(t *testing.T, service string) string
	// toskose runs a command for the application's manager.
	toskose(t *testing.T, args ...string) result
}

// attachedFault is what happens to a program of an attached container.
type attachedFault struct {
	name   string
	strike string // a script, with the program's process as $1
	mend   string // a script that runs once the program is FATAL; empty: the program need not become FATAL
}

// killed is a fault of every program.
var killed = attachedFault{name: "killed", strike: `kill -9 "$1"`}

// fatal kills a program whose executable is missing until the program is FATAL.
func fatal(executable string) attachedFault {
	return attachedFault{
		name:   "FATAL, until it can start",
		strike: fmt.Sprintf(`mv $(command -v %[1]s) /var/tmp/%[1]s; kill -9 "$1"`, executable),
		mend:   fmt.Sprintf("mv /var/tmp/%[1]s /usr/bin/%[1]s", executable),
	}
}

// attachedFaults are the faults of each program of attachable that runs.
var attachedFaults = map[string]map[string][]attachedFault{
	"exports": {"app": {killed, fatal("sleep")}},
	"includes": {
		"web":            {killed, {"FATAL, until it can start", `chmod go-x /usr/bin/python3; kill -9 "$1"`, "chmod go+x /usr/bin/python3"}}, // its user is nobody
		"queue:queue_01": {killed, fatal("sleep")},
	},
	"scripted":  {"database": {killed, fatal("sleep")}, "app": {killed, fatal("sleep")}, "extra": {killed, fatal("sleep")}},
	"dependent": {"database": {killed, fatal("sleep")}, "app": {killed, fatal("sleep")}},
	"web": {
		"pages:nginx": {killed, fatal("nginx"), {name: "hung, its port open", strike: `kill -STOP $(pgrep nginx)`}},
		"pages:php-fpm": {
			killed, fatal("php-fpm8.2"),
			{name: "hung, its port open", strike: `kill -STOP $(pgrep php-fpm)`},
			{name: "answers 500", strike: `touch /run/php/broken`},
		},
		"cron": {killed, fatal("cron")},
	},
}

// attachedServices returns a Compose file of all attachable applications, with images of a registry, and with more lines for each service.
func attachedServices(registry string, more func(service string) string) string {
	file := &strings.Builder{}
	fmt.Fprintln(file, "services:")
	for _, app := range attachable {
		fmt.Fprintf(file, "  %[1]s:\n    image: %[2]sNAME-%[1]s\n    build: FOLDER/%[1]s\n    environment: [%[3]s]\n%[4]s", app.name, registry, quoted(app.env), more(app.name))
	}
	return file.String()
}

func quoted(all []string) string {
	var words []string
	for _, one := range all {
		words = append(words, fmt.Sprintf("%q", one))
	}
	return strings.Join(words, ", ")
}

// composeDeployment is an attachedDeployment by Compose.
type composeDeployment struct{ *composed }

func (c composeDeployment) within(t *testing.T, service, script string, args ...string) string {
	t.Helper()
	return inContainer(t, c.engine, c.container(t, service).ID, append([]string{"sh", "-c", script, "sh"}, args...)...)
}

func (c composeDeployment) incarnation(t *testing.T, service string) string {
	t.Helper()
	found := c.container(t, service)
	if found == nil {
		t.Fatalf("service %s does not run", service)
	}
	return found.ID + " " + found.State.StartedAt
}

func (c composeDeployment) toskose(t *testing.T, args ...string) result {
	t.Helper()
	return commandWith(t, c.env, c.dir, "toskose", args...)
}

// attachedByCompose deploys and attaches all attachable applications.
func attachedByCompose(t *testing.T) composeDeployment {
	t.Helper()
	p := newComposedOf(t, attachedServices("", func(string) string { return "" }))
	p.compose(t, nil, "build", "-q")
	p.toskose(t, "attach", "--port", fmt.Sprint(freeport.Find(t)))
	p.compose(t, []string{"compose.toskose.yml"}, "up", "-d")
	return composeDeployment{p}
}

// TestTheProgramsOfAttachedContainersRecover from each fault, by Compose.
func TestTheProgramsOfAttachedContainersRecover(t *testing.T) {
	t.Parallel()
	attachedProgramsRecover(t, attachedByCompose(t), "attached-faults-compose.md")
}

// attachedProgramsRecover kills, hangs and breaks each program of an application with a goal. The goal or the unit brings
// each back, and no container is replaced or started again. It writes how long each took to a file in build/.
func attachedProgramsRecover(t *testing.T, d attachedDeployment, file string) {
	began := map[string]string{}
	for _, app := range attachable {
		eventually(t, fmt.Sprintf("the programs of %s are %v", app.name, app.programs), func() bool {
			return maps.Equal(programStates(d.within(t, app.name, "supervisorctl status || :")), app.programs)
		})
		began[app.name] = d.incarnation(t, app.name)
		awaitListed(t, d, app.name, app.programs)
	}
	if r := d.toskose(t, "up"); r.code != 0 {
		t.Fatalf("toskose up: %v", r)
	}
	table := recoveries{}
	t.Run("faults", func(t *testing.T) {
		for _, app := range attachable {
			t.Run(app.name, func(t *testing.T) {
				t.Parallel()
				for _, program := range slices.Sorted(maps.Keys(attachedFaults[app.name])) {
					for _, f := range attachedFaults[app.name][program] {
						t.Run(program+" "+f.name, func(t *testing.T) { table.recovers(t, d, app.name, program, f, app.programs) })
					}
				}
				if now := d.incarnation(t, app.name); now != began[app.name] {
					t.Errorf("the container was replaced or started again: it was %s, and is %s", began[app.name], now)
				}
			})
		}
	})
	table.publish(t, file)
}

// programStates returns the states in the output of supervisorctl.
func programStates(status string) map[string]string {
	states := map[string]string{}
	for _, line := range statusLine.FindAllStringSubmatch(status, -1) {
		states[line[1]] = line[2]
	}
	delete(states, "dependentstartup")
	return states
}

// awaitListed waits until `toskose ps` lists all programs of a service that have to run.
func awaitListed(t *testing.T, d attachedDeployment, service string, programs map[string]string) {
	t.Helper()
	eventually(t, "toskose ps lists the programs of "+service, func() bool {
		said := d.toskose(t, "ps").stdout
		for program, state := range programs {
			if state == "RUNNING" && !psLists(said, service+"/"+program, "running") {
				return false
			}
		}
		return true
	})
}

// recoveries has a row for each fault.
type recoveries struct {
	mutex sync.Mutex
	rows  []string
}

// recovers makes a fault happen to a program, and waits until another process runs and everything is as before.
func (r *recoveries) recovers(t *testing.T, d attachedDeployment, service, program string, f attachedFault, programs map[string]string) {
	pid := func() string {
		return strings.TrimSpace(d.within(t, service, `supervisorctl pid "$1" || :`, program))
	}
	before := pid()
	struck := time.Now()
	d.within(t, service, f.strike, before)
	if f.mend != "" {
		eventually(t, program+" is FATAL", func() bool {
			return programStates(d.within(t, service, "supervisorctl status || :"))[program] == "FATAL"
		})
		struck = time.Now()
		d.within(t, service, f.mend)
	}
	eventually(t, "another process of "+program+" runs", func() bool {
		now := pid()
		return now != before && now != "0"
	})
	again := time.Since(struck)
	eventually(t, fmt.Sprintf("the programs of %s are %v", service, programs), func() bool {
		return maps.Equal(programStates(d.within(t, service, "supervisorctl status || :")), programs)
	})
	awaitListed(t, d, service, programs)
	if service == "web" {
		eventually(t, "the pages are served", func() bool {
			const get = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/', timeout=1).status)"
			return strings.TrimSpace(d.within(t, service, `python3 -c "$1" 2>/dev/null || :`, get)) == "200"
		})
	}
	all := time.Since(struck)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.rows = append(r.rows, fmt.Sprintf("| %s/%s | %s | %.1f s | %.1f s |\n", service, program, f.name, again.Seconds(), all.Seconds()))
}

// publish writes the table to a file in build/.
func (r *recoveries) publish(t *testing.T, file string) {
	t.Helper()
	slices.Sort(r.rows)
	text := "| program | fault | another process after | everything runs after |\n|---|---|---|---|\n" + strings.Join(r.rows, "")
	path := filepath.Join("..", "build", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
	t.Log("\n" + text)
}
