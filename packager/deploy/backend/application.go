package backend

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Application is the state that deploying shares with a platform.
type Application struct {
	Info     output.Info
	Dir      string      // the folder that toskose packaged; may be empty if Named
	Named    bool        // the application is running and was found by its name
	Log      release.Log // the releases deployed before this call
	Environ  []string    // environment of the commands; DOCKER_HOST and KUBECONFIG select the engine and the cluster
	Progress io.Writer   // a line for each step
	Debug    io.Writer   // receives the output of the commands; may be nil

	http *http.Client // client for the manager; created on first use
}

// File returns the path of a file in the folder.
func (a *Application) File(name string) string { return filepath.Join(a.Dir, name) }

// Say prints a progress line.
func (a *Application) Say(format string, args ...any) {
	fmt.Fprintf(a.Progress, format+"\n", args...)
}

// Patience is the timeout of one request to the manager, which itself waits for units.
const Patience = 30 * time.Second

// Get sends a GET request to the manager, authenticated as user unless user is empty.
func (a *Application) Get(ctx context.Context, url, user, password string) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	if a.http == nil {
		if a.http, err = managerClient(a.Dir, a.Info); err != nil {
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
