// Package attach makes containers manageable as they are: it finds those whose images run
// supervisord, and writes a second Compose file, or a kustomization, that mounts the unit over
// supervisord and adds a manager. It changes no file of the user, and starts nothing. Its
// goroutines look into images and end before Compose and Cluster return.
package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/output"
)

// Names in the written files.
const (
	DefaultFile = "compose.toskose.yml" // the second Compose file
	FolderName  = "toskose"             // the folder beside it; beside NAME.yml, it is NAME-toskose
	ConfigFile  = "toskose.yml"         // the user's settings
	Manager     = "toskose-manager"     // the manager's service
	DefaultPort = 10000                 // of the manager
)

// Images are the images that services run.
type Images interface {
	Architecture(ctx context.Context) (string, error)
	OnEngine(ctx context.Context, refs ...string) string
	Inspect(ctx context.Context, ref, arch string, use func(*image.Contents) error) error
}

// Options configure Compose and Cluster.
type Options struct {
	Files    []string // Compose files; empty: those that Compose finds
	Profiles []string
	Services []string // that are attached even if their commands do not name supervisord; empty: all that run it
	Exclude  []string // services that are not attached
	Port     int      // at which the manager is published on 127.0.0.1
	TLS      bool     // between clients, manager and units
	Output   string   // the second file; empty: DefaultFile beside the first Compose file
	Config   string   // empty: ConfigFile beside the first Compose file, if it exists

	Environ  []string // for the Compose files
	Version  string   // of Toskose; the tag of its images on Kubernetes
	Registry string   // of these images; empty: they have no registry
	Binaries []string // folders that are searched for the unit and the manager
	Images   Images
	Random   io.Reader // source of new credentials
	Now      time.Time // start of the validity of certificates

	// Kustomize returns the objects of a folder with a kustomization, for Cluster.
	Kustomize func(ctx context.Context, dir string) ([]byte, error)
}

// Result describes the written files.
type Result struct {
	Project   string         `json:"project"`
	Files     []string       `json:"files,omitempty"`     // Compose files to run with, the written one last
	Folder    string         `json:"folder"`              // of the other written files, or of the kustomization
	Namespace string         `json:"namespace,omitempty"` // of the workloads on Kubernetes, if their manifests name it
	Images    []ImageContext `json:"images,omitempty"`    // that a cluster needs
	Manager   string         `json:"manager"`             // URL
	Services  []Finding      `json:"services"`

	Password  string `json:"-"` // file with the password of the user admin
	Authority string `json:"-"` // file with the certificate of the manager's authority; empty: no TLS
}

// ImageContext is an image, and the folder that it is built from.
type ImageContext struct {
	Image  string `json:"image"`
	Folder string `json:"folder"`
}

// access sets how clients reach the manager.
func (r *Result) access(opts Options) {
	r.Manager = fmt.Sprintf("%s//127.0.0.1:%d", scheme(opts), opts.Port)
	r.Password = filepath.Join(r.Folder, output.SecretsDir, packager.ManagerPassword)
	if opts.TLS {
		r.Authority = filepath.Join(r.Folder, output.SecretsDir, packager.TLSAuthority)
	}
}

func scheme(opts Options) string {
	if opts.TLS {
		return "https:"
	}
	return "http:"
}

// Finding is the finding for one service or workload.
type Finding struct {
	Service     string   `json:"service"`
	Image       string   `json:"image"`
	Attached    bool     `json:"attached"`
	Supervisord []string `json:"supervisord,omitempty"` // paths in the image that the unit is mounted over
	Port        int      `json:"port,omitempty"`        // of the unit's API
	Reason      string   `json:"reason,omitempty"`      // why it is not attached
	Notes       []string `json:"notes,omitempty"`       // what is different with the unit

	arch string // of its image
}

// ErrNothing means that no service can be attached.
var ErrNothing = errors.New("no service can be attached")

// Compose looks into the images of a Compose project, and writes the second Compose file with its
// folder. With ErrNothing, the result has the findings, and nothing was written.
func Compose(ctx context.Context, opts Options) (*Result, error) {
	p, err := load(ctx, opts)
	if err != nil {
		return nil, err
	}
	cfg, err := readSettings(opts.Config, filepath.Dir(p.ComposeFiles[0]))
	if err != nil {
		return nil, err
	}
	arch, err := opts.Images.Architecture(ctx)
	if err != nil {
		return nil, err
	}
	findings, err := p.look(ctx, opts, arch)
	if err != nil {
		return nil, err
	}
	result := &Result{Project: p.Name, Files: append(slices.Clone(p.ComposeFiles), p.output), Folder: p.folder, Services: findings}
	result.access(opts)
	if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Attached }) {
		return result, ErrNothing
	}
	return result, p.write(ctx, opts, cfg, findings, arch)
}

// project is the user's Compose project.
type project struct {
	*types.Project
	version string // of the Compose format in the first file; empty: none is given
	output  string // absolute path of the second file
	folder  string // absolute path of its folder
}
