package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/manager/client"
)

// checkNames returns a usage error if the application does not have one of the names in a request for a goal. Nothing is stored.
func checkNames(ctx context.Context, c *client.Client, states map[string]string) error {
	plan, err := c.Plan(ctx, "", states)
	if err != nil || len(plan.Unknown) == 0 {
		return err
	}
	app, err := c.App(ctx)
	if err != nil {
		return err
	}
	known := allNames(app, nil)
	problems := make([]string, len(plan.Unknown))
	for i, name := range plan.Unknown {
		problems[i] = fmt.Sprintf("%q has no component, container or group %q", app.Name, name)
		if near := suggest.Nearest(name, known); near != "" {
			problems[i] += fmt.Sprintf("; did you mean %q?", near)
		} else {
			problems[i] += "; it has " + strings.Join(known, ", ")
		}
	}
	return cli.Misuse(fmt.Errorf("%s", strings.Join(problems, "\n")))
}
