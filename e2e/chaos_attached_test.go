//go:build chaos

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
)

// TestChaosOnComposeOfAttachedContainers kills, hangs and breaks programs of a project that was attached. The goal or the
// unit brings each back, and no container is replaced or started again.
func TestChaosOnComposeOfAttachedContainers(t *testing.T) {
	p := newComposed(t)
	p.compose(t, nil, "build")
	p.toskose(t, "attach", "--port", fmt.Sprint(freeport.Find(t)))
	p.compose(t, []string{"compose.toskose.yml"}, "up", "-d")
	programs := []string{"exports/app running", "web/cron running", "web/pages:nginx running", "web/pages:php-fpm running"}
	p.shows(t, programs...)
	p.toskose(t, "up")
	web := p.container(t, "web").ID
	began := map[string]string{}
	for _, service := range []string{"web", "exports"} {
		c := p.container(t, service)
		began[service] = c.ID + " " + c.State.StartedAt
	}
	serves := func() bool {
		r := command(t, "", found(t, "docker"), "exec", web, "python3", "-c",
			"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/', timeout=1).status)")
		return strings.TrimSpace(r.stdout) == "200"
	}
	pid := func(service, program string) string {
		return strings.TrimSpace(inContainer(t, p.engine, p.container(t, service).ID, "sh", "-c", "supervisorctl pid $1 || :", "sh", program))
	}
	eventually(t, "the pages are served", serves)

	table := chaos{}
	for _, f := range []struct {
		name, service, program string
		strike                 string // a script, with the program's process as $1
		noticed                string // a state of Supervisor
		mend                   string
	}{
		{"a program killed", "exports", "app", `kill -9 $1`, "", ""},
		{"a server killed, whose worker keeps its port", "web", "pages:nginx", `kill -9 $1`, "", ""},
		{"a server hangs, its port open", "web", "pages:php-fpm", `kill -STOP $(pgrep php-fpm)`, "", ""},
		{"a server answers 500", "web", "pages:php-fpm", `touch /run/php/broken`, "", ""},
		{"a program made FATAL, until it can start again", "web", "cron", `mv /usr/sbin/cron /usr/sbin/away; kill -9 $1`, "FATAL", `mv /usr/sbin/away /usr/sbin/cron`},
	} {
		t.Run(f.name, func(t *testing.T) {
			before := pid(f.service, f.program)
			id := p.container(t, f.service).ID
			inContainer(t, p.engine, id, "sh", "-c", f.strike, "sh", before)
			struck := time.Now()
			if f.mend != "" {
				eventually(t, f.name+" is noticed", func() bool {
					return strings.Contains(inContainer(t, p.engine, id, "sh", "-c", "supervisorctl status || :"), f.noticed)
				})
				inContainer(t, p.engine, id, "sh", "-c", f.mend)
				struck = time.Now()
			}
			eventually(t, f.name+": another process runs", func() bool {
				now := pid(f.service, f.program)
				return now != before && now != "0"
			})
			again := time.Since(struck)
			p.shows(t, programs...)
			eventually(t, f.name+": the pages are served", serves)
			table.table = append(table.table, fmt.Sprintf("| %s | %.1f s | %.1f s |", f.name, again.Seconds(), time.Since(struck).Seconds()))
		})
	}
	for service, was := range began {
		if c := p.container(t, service); c.ID+" "+c.State.StartedAt != was {
			t.Errorf("the container of %s was replaced or started again: it was %s, and is %s %s", service, was, c.ID, c.State.StartedAt)
		}
	}
	table.publish(t, "chaos-attached.md", "what happens, in attached containers", "another process", "everything runs")
}
