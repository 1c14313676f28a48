package config_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
)

const containerConf = `[supervisord]
[group:api]
programs=api.configure
[program:api.configure]
process_name=configure
command=/bin/true
autostart=false
autorestart=false
toskose_component=api
toskose_interface=Standard
toskose_operation=run
`

func container(t *testing.T) string {
	t.Helper()
	document, err := spec.EncodeContainer(&spec.Container{
		Application: "shop", Node: "backend",
		Job: &spec.Job{Task: spec.JobStep{Component: "api", Operation: "Standard.configure"}, Input: "I", Completions: 2},
		Components: []spec.Hosted{{Name: "api", Protocol: protocol.Software(), Files: "abc", Operations: []spec.Program{{
			Operation: protocol.Operation{Interface: "Standard", Name: "configure"},
			Inputs:    map[string]string{"GREETING": "100% ;-) #1 %(here)s"}, SecretInputs: map[string]string{"KEY": "/key"}, SecretEnvironment: map[string]string{"PASSWORD": "/password"},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

func parseBoth(conf, document string) (*config.Config, []config.Warning, error) {
	return config.Parse("/unit/supervisord.conf", config.Options{FS: fstest.MapFS{
		"unit/supervisord.conf": {Data: []byte(conf)}, "unit/container.json": {Data: []byte(document)},
	}})
}

// TestTheDocumentBesideTheConfigurationIsRead: nothing in it is expanded, and the digest covers it.
func TestTheDocumentBesideTheConfigurationIsRead(t *testing.T) {
	t.Parallel()
	document := container(t)
	c, warnings, err := parseBoth(containerConf, document)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", err, warnings)
	}
	p, ok := c.Program("api", "configure")
	if !ok {
		t.Fatal("there is no program configure")
	}
	got := []any{p.Inputs, p.SecretInputs, p.SecretEnv, c.Components, c.Supervisord.Job.Completions, c.Digest}
	software := protocol.Software()
	want := []any{
		map[string]string{"GREETING": "100% ;-) #1 %(here)s"},
		map[string]string{"KEY": "/key"},
		map[string]string{"PASSWORD": "/password"},
		[]config.Component{{Name: "api", Protocol: &software, Files: "abc"}},
		2, fmt.Sprintf("%x", sha256.Sum256([]byte(containerConf+document))),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADocumentThatContradictsTheConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	document := container(t)
	for want, c := range map[string][2]string{
		`/unit/container.json: it has format 3, and this version reads format 1`:        {containerConf, strings.Replace(document, `"format": 1`, `"format": 3`, 1)},
		`/unit/container.json: line 1: it is not valid JSON`:                            {containerConf, "components"},
		`/unit/container.json: component "api": protocol: initial names state "off"`:    {containerConf, strings.Replace(document, `"initial": "deleted"`, `"initial": "off"`, 1)},
		`[program:api.configure] toskose_inputs cannot be combined with container.json`: {containerConf + "toskose_inputs={}\n", document},
		`[toskose:component:api] is in container.json, too`:                             {containerConf + "[toskose:component:api]\ntoskose_protocol={\"initial\":\"a\",\"states\":[{\"name\":\"a\"}]}\n", document},
	} {
		if _, _, err := parseBoth(c[0], c[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
