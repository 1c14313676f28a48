package controller

import (
	"fmt"
	"strings"
)

// line is a file with an assembly line, as a test wants it.
type line struct {
	deploy bool
	assets []asset
}

type asset struct {
	name         string
	deploy       bool
	applications []application
}

type application struct {
	name       string
	deploy     bool
	replicas   int
	components []string // a name followed by "!" is permanent
}

const componentYAML = `
            - name: %s
              image: %s
              permanent: %v
              flowConfig: {previous: [], next: [{name: sink, IFMHtopic: topic-%s}]}
              customization: [of %s]`

func (l line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: levels.toskose.io/v1alpha1\nkind: Assemblyline\nmetadata: {name: line-1}\nspec:\n  name: line-1\n  deploy: %v\n  assets:", l.deploy)
	if len(l.assets) == 0 {
		b.WriteString(" []")
	}
	for _, a := range l.assets {
		fmt.Fprintf(&b, "\n    - name: %s\n      deploy: %v\n      applications:", a.name, a.deploy)
		if len(a.applications) == 0 {
			b.WriteString(" []")
		}
		for _, app := range a.applications {
			fmt.Fprintf(&b, "\n        - name: %s\n          deploy: %v\n          replicas: %d\n          components:", app.name, app.deploy, app.replicas)
			if len(app.components) == 0 {
				b.WriteString(" []")
			}
			for _, c := range app.components {
				name, permanent := strings.CutSuffix(c, "!")
				fmt.Fprintf(&b, componentYAML, name, name+":1", permanent, app.name, app.name)
			}
		}
	}
	return b.String() + "\n"
}

// caseStudy is a line with two assets, each with an application of two components and one of three, of which the last is
// permanent and shared.
func caseStudy() line {
	l := line{deploy: true}
	for _, name := range []string{"robot-1", "robot-2"} {
		l.assets = append(l.assets, asset{name, true, []application{
			{"acquisition", true, 1, []string{"camera", "publisher"}},
			{"processing", true, 1, []string{"filter", "archive", "process!"}},
		}})
	}
	return l
}
