package main_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// sample is one number of an exposition.
type sample struct {
	family, name string
	labels       map[string]string
	value        float64
}

var (
	describes = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$`)
	measures  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9]+(?:\.[0-9]*)?)$`)
	labelled  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^\\"\n]|\\[\\"n])*)"(,|$)`)
)

// parseMetrics reads an exposition by the rules of OpenMetrics 1.0, and by
// nothing but them.
func parseMetrics(t *testing.T, text string) []sample {
	t.Helper()
	body, ended := strings.CutSuffix(text, "# EOF\n")
	if !ended || strings.Contains(body, "# EOF") {
		t.Fatal("it does not end with # EOF, once")
	}
	suffixes := map[string]string{"counter": "_total", "info": "_info", "gauge": "", "stateset": ""}
	families, series := map[string]map[string]string{}, map[string]bool{}
	family := ""
	var samples []sample
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if m := describes.FindStringSubmatch(line); m != nil {
			if m[2] != family && families[m[2]] != nil {
				t.Fatalf("%s: the family was left before", line)
			}
			family = m[2]
			if families[family] == nil {
				families[family] = map[string]string{}
			}
			if _, twice := families[family][m[1]]; twice || families[family]["samples"] != "" {
				t.Fatalf("%s: twice, or after samples", line)
			}
			families[family][m[1]] = m[3]
			if m[1] == "UNIT" && !strings.HasSuffix(family, "_"+m[3]) {
				t.Fatalf("%s: the name does not end in the unit", line)
			}
			continue
		}
		m := measures.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no line of OpenMetrics", line)
		}
		kind := families[family]["TYPE"]
		suffix, known := suffixes[kind]
		if !known || m[1] != family+suffix {
			t.Fatalf("%q is no sample of the %s %s", line, kind, family)
		}
		families[family]["samples"] = "yes"
		s := sample{family: family, name: m[1], labels: parseLabels(t, m[2])}
		s.value, _ = strconv.ParseFloat(m[3], 64)
		if series[m[1]+m[2]] {
			t.Fatalf("%q is there twice", line)
		}
		series[m[1]+m[2]] = true
		if kind == "counter" && s.value < 0 || kind == "info" && s.value != 1 || kind == "stateset" && s.value != 0 && s.value != 1 {
			t.Fatalf("%q: not the value of a %s", line, kind)
		}
		if _, has := s.labels[family]; has != (kind == "stateset") {
			t.Fatalf("%q: only a stateset has a label of its own name", line)
		}
		samples = append(samples, s)
	}
	return samples
}

func parseLabels(t *testing.T, text string) map[string]string {
	t.Helper()
	labels := map[string]string{}
	for text != "" {
		m := labelled.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q are no labels", text)
		}
		if _, twice := labels[m[1]]; twice {
			t.Fatalf("%q: a label twice", text)
		}
		labels[m[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(m[2])
		if text = text[len(m[0]):]; m[3] == "," && text == "" {
			t.Fatal("a comma at the end")
		}
	}
	return labels
}

func (c *container) metrics() []sample {
	c.t.Helper()
	response, err := c.request(http.MethodGet, "/metrics", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("%s %v", response.Status, err)
	}
	if got := response.Header.Get("Content-Type"); got != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		c.t.Errorf("content type %q", got)
	}
	return parseMetrics(c.t, string(text))
}

// sample returns the only number of a name with these labels.
func (c *container) sample(name string, labels ...string) float64 {
	c.t.Helper()
	return pick(c.t, c.metrics(), name, labels...)
}

func pick(t *testing.T, samples []sample, name string, labels ...string) float64 {
	t.Helper()
	var found []sample
	for _, s := range samples {
		matches := s.name == name
		for i := 0; i < len(labels); i += 2 {
			matches = matches && s.labels[labels[i]] == labels[i+1]
		}
		if matches {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d samples are %s %q: %v", len(found), name, labels, found)
	}
	return found[0].value
}

func TestMetricsAreOpenMetricsAndTrue(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"create": `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo 0123456789; exit 7`,
		"delete": "exit 0",
	}, "")+`[program:again]
command=/bin/sh -c 'echo >> DIR/again; [ $(wc -l < DIR/again) = 2 ] || kill -9 $$'
startsecs=0
autorestart=unexpected
[program:steady"\x]
process_name=steady"\x
command=/bin/sleep 1000
`).boot()
	outcome(t, c.run("api", "create"), wire.OutcomeFailed)
	outcome(t, c.run("api", "create"), wire.OutcomeFailed)
	c.inState(`steady"\x`, wire.Running)
	samples := c.metrics()
	create := []string{"component", "api", "operation", "create"}
	steady := []string{"component", `steady"\x`, "operation", `steady"\x`}
	with := func(labels []string, more ...string) []string { return slices.Concat(labels, more) }
	for name, want := range map[string]float64{
		"toskose_program_starts_total": 2, "toskose_program_restarts_total": 0, "toskose_program_processes": 0,
	} {
		if got := pick(t, samples, name, create...); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := pick(t, samples, "toskose_program_exits_total", with(create, "code", "7", "signal", "")...); got != 2 {
		t.Errorf("exits with 7: %v", got)
	}
	if got := pick(t, samples, "toskose_program_log_bytes_total", with(create, "stream", "stdout")...); got != 22 {
		t.Errorf("log bytes: %v", got)
	}
	cpu := pick(t, samples, "toskose_program_cpu_seconds_total", create...)
	if cpu <= 0 {
		t.Errorf("CPU of what has ended: %v", cpu)
	}
	// The kernel counts the first pages of a process late.
	c.eventually("a process has memory", func() bool { return c.sample("toskose_program_resident_memory_bytes", steady...) >= 4096 })
	if got := pick(t, samples, "toskose_program_processes", steady...); got != 1 {
		t.Errorf("processes: %v", got)
	}
	for _, name := range []string{"toskose_unit_cpu_seconds_total", "toskose_unit_resident_memory_bytes", "toskose_unit_start_time_seconds", "toskose_unit_journal_entries_total"} {
		if pick(t, samples, name) <= 0 {
			t.Errorf("%s is nothing", name)
		}
	}
	oneHot(t, samples, "toskose_component_state", "deleted", "component", "api")
	oneHot(t, samples, "toskose_program_state", "EXITED", create...)
	outcome(t, c.run("api", "create"), wire.OutcomeFailed)
	if now := c.sample("toskose_program_cpu_seconds_total", create...); now <= cpu {
		t.Errorf("CPU after another run: %v, before: %v", now, cpu)
	}
	// Killed, restarted because that was not expected, and ended as it should.
	again := []string{"component", "again"}
	c.until("again", "\n\n")
	for pick(t, samples, "toskose_program_state", with(again, "toskose_program_state", "EXITED")...) == 0 {
		samples = c.metrics()
	}
	for name, labels := range map[string][]string{
		"toskose_program_restarts_total": again, "toskose_program_exits_total": with(again, "code", "", "signal", "SIGKILL"),
	} {
		if got := pick(t, samples, name, labels...); got != 1 {
			t.Errorf("%s %q: %v, want 1", name, labels, got)
		}
	}
	if got := pick(t, samples, "toskose_program_exits_total", with(again, "code", "0")...); got != 1 {
		t.Errorf("exits with 0: %v", got)
	}
}

func oneHot(t *testing.T, samples []sample, family, want string, labels ...string) {
	t.Helper()
	var states []string
	for _, s := range samples {
		matches := s.name == family && s.value == 1
		for i := 0; i < len(labels); i += 2 {
			matches = matches && s.labels[labels[i]] == labels[i+1]
		}
		if matches {
			states = append(states, s.labels[family])
		}
	}
	if len(states) != 1 || states[0] != want {
		t.Errorf("%s %q is %q, want %s", family, labels, states, want)
	}
}
