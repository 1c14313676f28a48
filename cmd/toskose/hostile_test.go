package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostileYAML is valid, and has names and texts that make a terminal change its
// colours, its title and the direction of what it shows.
const hostileYAML = `tosca_definitions_version: tosca_simple_yaml_1_3
description: "d\e[31m\x9b31m\x7f\u202e\u2028\b"
metadata: {template_name: "n\e[2J", template_version: "\x9b"}
imports: [tosker-types.yaml]
topology_template:
  inputs:
    "i\e": {type: string, default: "\e[31m\x9b", description: "\e[2J\x9b"}
  node_templates:
    web: {type: tosker.nodes.Container, artifacts: {i: {file: busybox, type: tosker.artifacts.Image}}, properties: {env_variable: {A: "\e\x9b"}}}
    page: {type: tosker.nodes.Software, requirements: [{host: web}, {connection: "a\e]0;x\a"}]}
    "a\e]0;x\a": {type: tosca.nodes.Root}
    "b\x9b31m\x7f\u202e\n\r\u2028": {type: tosca.nodes.Root, requirements: [{dependency: "a\e]0;x\a"}]}
`

// brokenYAML has mistakes in such names.
const brokenYAML = `tosca_definitions_version: tosca_simple_yaml_1_3
topology_template:
  node_templates:
    "a\e[31m": {type: "tosca.nodes.Ro\e]0;x\at"}
    "b\x9b": {type: tosca.nodes.Root, "k\e": 1, properties: {"\x9b[2J": "\u202e"}}
`

func TestNoControlCharacterOfADocumentReachesATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	odd, broken := file("odd\x1b[31m\u009b.yaml", hostileYAML), file("broken\x1b[31m\u009b.yaml", brokenYAML)
	none := file("none\x1b[31m\u009b.csar", "no zip")
	for _, command := range []string{
		"validate", "validate --format json", "validate --format sarif", "inspect", "inspect --json",
		"graph", "graph --format dot", "graph --format mermaid", "plan", "", "config", "validate --inputs " + odd, "validate -i \x1bx=\u009by",
	} {
		for _, path := range []string{odd, broken, none, odd + "none"} {
			var out, errs bytes.Buffer
			run(t.Context(), append(strings.Fields(command), path), environment{out: &out, err: &errs})
			if out.Len()+errs.Len() == 0 {
				t.Errorf("%s %q printed nothing", command, path)
			}
			for _, r := range out.String() + errs.String() {
				if r == utf8.RuneError || r == '\n' || r == '\t' {
					continue
				}
				if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
					t.Errorf("%s %q printed %U:\n%q\n%q", command, path, r, out.String(), errs.String())
					break
				}
			}
		}
	}
}
