package backend

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Application is what deploying and a back-end both know of an application.
type Application struct {
	Info     output.Info
	Dir      string      // what toskose has packaged; may be empty where it is named
	Named    bool        // it runs, and is found by its name
	Log      release.Log // of what was deployed before this call
	Environ  []string    // of the commands; DOCKER_HOST and KUBECONFIG say where the engine and the cluster are
	Progress io.Writer   // a line for each step
	Debug    io.Writer   // what the commands print; may be nil

	http *http.Client // asks the manager; made when it is needed
}

// File is one of the folder's.
func (a *Application) File(name string) string { return filepath.Join(a.Dir, name) }

// Say prints a line for a step.
func (a *Application) Say(format string, args ...any) {
	fmt.Fprintf(a.Progress, format+"\n", args...)
}

// Patience is the time for one answer of the manager, which itself waits for units.
const Patience = 30 * time.Second

// Get asks the manager, as a user unless that is empty.
func (a *Application) Get(ctx context.Context, url, user, password string) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	if a.http == nil {
		if a.http, err = endpoint.Client(a.Dir, a.Info); err != nil {
			return 0, nil, err
		}
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return resp.StatusCode, body, err
}
