package tosca_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/tosca"
)

// TestTheNodeTemplatesOfTheDocumentationAreValid puts those that a page shows by themselves into a document, with the
// container that they name and their scripts.
func TestTheNodeTemplatesOfTheDocumentationAreValid(t *testing.T) {
	t.Parallel()
	const document = `tosca_definitions_version: tosca_simple_yaml_1_3
metadata: {template_name: shown}
imports: [toskose-types.yaml]
topology_template:
  node_templates:
    box:
      type: tosker.nodes.Container
      artifacts: {base: {file: "busybox:1.36", type: tosker.artifacts.Image}}
`
	for _, b := range docs.Of(t, docs.Templates) {
		files := map[string]string{"app.yaml": document + regexp.MustCompile("(?m)^").ReplaceAllString(strings.TrimSpace(b.Text), "    ") + "\n"}
		for _, script := range regexp.MustCompile(`[a-z/]+\.sh`).FindAllString(b.Text, -1) {
			files[script] = "#!/bin/sh\n"
		}
		app, list, err := tosca.Load(t.Context(), zipped(t, files), tosca.Options{})
		if err != nil || len(list) > 0 || len(app.Components) == 0 {
			t.Errorf("%s:%d: %v %v\n%s", b.Page, b.Line, err, list, files["app.yaml"])
		}
	}
}
