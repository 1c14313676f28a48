package skew

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/manager/legacy"
	"github.com/toskose/toskose/spec"
)

// TestTheAnswersOfAManagerAreRead: toskose is replaced before the manager of an application.
func TestTheAnswersOfAManagerAreRead(t *testing.T) {
	t.Parallel()
	said := recordedExchanges(t, "manager.json")
	understood[client.App](t, said.answer(t, "GET", "/api/v1/app"))
	understood[client.Plan](t, said.answer(t, "POST", "/api/v1/app/plan"))
	understood[client.History](t, said.answer(t, "GET", "/api/v1/executions"))
	understood[[]client.Node](t, said.answer(t, "GET", "/api/v1/node"))
	for _, e := range said {
		switch path, _, _ := strings.Cut(e.URI, "?"); {
		case path == "/api/v1/app/goal":
			understood[client.Goal](t, e.text())
		case strings.HasPrefix(path, "/api/v1/executions/") || path == "/api/v1/node/frontend/gui/stop":
			understood[client.Execution](t, e.text())
		case path == "/api/v1/events":
			understood[struct {
				Events []client.Event `json:"events"`
				Next   string         `json:"next"`
			}](t, e.text())
		case path == "/api/v1/logs":
			understood[struct {
				Lines []client.LogLine `json:"lines"`
				Next  string           `json:"next"`
			}](t, e.text())
		case e.Status == http.StatusConflict:
			understood[client.Problem](t, e.text())
		}
	}

	server := said.serve(t, nil)
	c := client.New(server.URL, "admin", "any")
	defer c.Close()
	app, err := c.App(t.Context())
	if err != nil || len(app.Nodes) != 3 || len(app.Components) != 3 {
		t.Fatalf("%+v, %v", app, err)
	}
	api := app.Components[slices.IndexFunc(app.Components, func(c client.Component) bool { return c.Name == "api" })]
	if api.Node != "backend" || api.State != "running" || !slices.Equal(api.Allowed, []string{"Standard.stop"}) || len(api.Operations) != 6 ||
		!api.Operations[0].Implemented || len(api.Replicas) != 1 || api.Replicas[0].Instance == "" || api.Replicas[0].State != "running" || api.Replicas[0].Since.IsZero() {
		t.Errorf("api is %+v", api)
	}
	g, err := c.Goal(t.Context())
	if err != nil || g.State != "up" || g.By != "admin" || !g.Acting || !g.Done || g.Reached != 3 || g.Wanted != 3 || g.Revision == "" || g.Revision != g.Asked {
		t.Errorf("the goal is %+v, %v", g, err)
	}
	h, err := c.History(t.Context(), client.HistoryQuery{Limit: 20, Output: true})
	if err != nil || len(h.Executions) != 9 || h.Executions[0].Outcome != client.OutcomeSucceeded || h.Executions[0].Runs[0].Stdout == "" || h.Executions[0].Runs[0].To != "running" {
		t.Errorf("the history is %+v, %v", h, err)
	}
	states := map[string]string{}
	if err := c.Events(t.Context(), "", func(e client.Event) error { states[e.Component] = e.Kind + " " + e.State; return nil }); err != nil || states["gui"] != "state running" || len(states) != 3 {
		t.Errorf("the events are %v, %v", states, err)
	}
	nodes, err := c.Processes(t.Context())
	if err != nil || len(nodes) != 3 || len(nodes[0].Components) == 0 || len(nodes[0].Components[0].Replicas[0].Processes) == 0 {
		t.Errorf("the processes are %+v, %v", nodes, err)
	}
	x, err := c.Run(t.Context(), client.RunRequest{Node: "backend", Component: "api", Operation: "configure"}, func(client.Execution) {})
	if err != nil || x.Outcome != "refused" || x.Runs[0].From != "running" || x.Runs[0].Reason == "" {
		t.Errorf("what is refused is %+v, %v", x, err)
	}
}

// some are passwords of units that are not there.
func some(string) []string { return []string{"any"} }

// TestTheManagersImageIsRead: the image may have another manager than the one of the release
// that packaged the application.
func TestTheManagersImageIsRead(t *testing.T) {
	t.Parallel()
	if !legacy.IsDocument(recorded(t, "app.json")) {
		t.Fatal("the release before writes the format of today: read it with spec.Decode")
	}
	model, err := legacy.Decode(recorded(t, "app.json"), recorded(t, "toskose.yml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	api := model.Components[slices.IndexFunc(model.Components, func(c spec.Component) bool { return c.Name == "api" })]
	if api.Node != "backend" || api.Protocol.Initial != "deleted" || len(api.Protocol.Transitions) != 7 || !slices.Equal(api.Connections, []string{"store"}) {
		t.Errorf("api is %+v", api)
	}
	if p := api.Policy; p.Stable != spec.Duration(time.Minute) || p.Attempts["Standard.configure"] != 3 || p.Attempts["Standard.start"] != 0 {
		t.Errorf("the policy of api is %+v", p)
	}
	for _, n := range model.Nodes {
		if n.Name == "frontend" && (n.Unit.Port != 9002 || n.Unit.User != "admin") {
			t.Errorf("frontend is %+v", n)
		}
	}
	server := testapp.Serve(t, model, testapp.Options{Passwords: some, Access: access.Options{First: "admin", Password: access.Always("pw")}})
	c := client.New(server.URL, "admin", "pw")
	defer c.Close()
	app, err := c.App(t.Context())
	if err != nil || len(app.Nodes) != 3 || len(app.Components) != 3 || len(app.Components[0].Operations) != 6 {
		t.Errorf("its manager says %+v, %v", app, err)
	}
}

// TestWhatTheAPIHasPromisedIsKept: a toskose of the release before, or another client, asks
// this manager. What is taken away on purpose is named here, with the entry of CHANGELOG.md.
func TestWhatTheAPIHasPromisedIsKept(t *testing.T) {
	t.Parallel()
	gone := []string{}
	server := testapp.Serve(t, testapp.Shop(), testapp.Options{Passwords: some, Access: access.Options{First: "admin", Password: access.Always("pw")}})
	answer, err := server.Client().Get(server.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var before, now map[string]any
	if err := errors.Join(json.Unmarshal(recorded(t, "openapi.json"), &before), json.Unmarshal(text, &now)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"paths", "components"} {
		for _, broken := range kept(part, before[part], now[part], false) {
			if !slices.Contains(gone, broken) {
				t.Errorf("it has been %s", broken)
			}
		}
	}
}

// kept returns what a part of an OpenAPI document says of which another one says less: a path, an
// answer, a field, or what a field may be. Of what is asked it may not want more.
func kept(path string, before, now any, asked bool) (broken []string) {
	switch before := before.(type) {
	case map[string]any:
		other, ok := now.(map[string]any)
		if !ok {
			return []string{path}
		}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			value := before[name]
			fields := strings.HasSuffix(path, ".properties")
			of := asked || name == "requestBody" || name == "requestBodies" || name == "parameters" || strings.HasSuffix(name, "Request")
			switch {
			case !fields && slices.Contains([]string{"description", "summary", "example", "tags", "required"}, name):
			case other[name] == nil:
				broken = append(broken, path+"."+name)
			default:
				broken = append(broken, kept(path+"."+name, value, other[name], of)...)
			}
		}
		broken = append(broken, required(path, before["required"], other["required"], asked)...)
	case []any:
		others, _ := now.([]any)
		for _, value := range before {
			if !slices.ContainsFunc(others, func(other any) bool { return len(kept(path, value, other, asked)) == 0 }) {
				broken = append(broken, fmt.Sprintf("%s: %v", path, value))
			}
		}
	default:
		if before != now {
			broken = append(broken, fmt.Sprintf("%s: %v, and is %v", path, before, now))
		}
	}
	return broken
}

// required compares what has to be there: what is answered always stays, and nothing more is to be
// asked.
func required(path string, before, now any, asked bool) (broken []string) {
	less, more := names(before), names(now)
	if asked {
		less, more = more, less
	}
	for _, name := range less {
		if !slices.Contains(more, name) {
			broken = append(broken, path+".required."+name)
		}
	}
	return broken
}

// names are those of a list, or of a parameter what it is.
func names(list any) (all []string) {
	if list == true {
		return []string{"itself"}
	}
	some, _ := list.([]any)
	for _, name := range some {
		all = append(all, fmt.Sprint(name))
	}
	return all
}
