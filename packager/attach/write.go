package attach

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/output"
)

// Folders below FolderName.
const (
	managerFolder   = "manager"   // context of the manager's image
	documentsFolder = "documents" // a folder for each service, in which its units store documents
)

// Names of the binaries.
const (
	unitBinary    = "toskose-unit"
	managerBinary = "toskose-manager"
)

// dockerfile builds the manager's image, as Dockerfile.manager does, with the application.
const dockerfile = header + `FROM scratch
COPY toskose-manager app.json /toskose/manager/
HEALTHCHECK --interval=3s --timeout=5s --retries=10 CMD ["/toskose/manager/toskose-manager", "health"]
USER 65532:65532
ENTRYPOINT ["/toskose/manager/toskose-manager"]
`

// write writes the folder and, at last, the second Compose file.
func (p *project) write(ctx context.Context, opts Options, cfg settings, findings []Finding, arch string) error {
	document, err := cfg.encode(p.document(cfg, findings))
	if err != nil {
		return err
	}
	units, files, err := unitsOf(opts, findings)
	if err != nil {
		return err
	}
	r := &renderer{project: p, opts: opts, findings: findings, units: units}
	manager, err := readBinary(opts, managerBinary, arch)
	if err != nil {
		return err
	}
	files = append(files,
		output.File{Name: filepath.Join(managerFolder, managerBinary), Mode: 0o755, Data: manager},
		output.File{Name: filepath.Join(managerFolder, "app.json"), Mode: 0o644, Data: document},
		output.File{Name: filepath.Join(managerFolder, "Dockerfile"), Mode: 0o644, Data: []byte(dockerfile)},
		output.File{Name: ".gitignore", Mode: 0o644, Data: []byte("*\n")})
	r.image = r.managerImage(files)
	data, err := r.render()
	if err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), p.checkSecrets(r.file)); err != nil {
		return err
	}
	if err := output.WriteSecrets(p.folder, credentials(p.Name, opts, findings), files, output.Options{Random: opts.Random, Now: opts.Now}); err != nil {
		return err
	}
	if err := p.makeDocuments(findings); err != nil {
		return err
	}
	if old, err := os.ReadFile(p.output); err == nil && string(old) == string(data) {
		return nil
	}
	if err := output.WriteFile(p.output, 0o644, data); err != nil {
		return fmt.Errorf("cannot write %q: %w", p.output, err)
	}
	return nil
}

// unitsOf returns the files with the units of all architectures, and their names by architecture.
// A name has a digest: containers mount the file, and Compose replaces them when the name changes.
func unitsOf(opts Options, findings []Finding) (names map[string]string, files []output.File, err error) {
	names = map[string]string{}
	for _, f := range findings {
		if !f.Attached || names[f.arch] != "" {
			continue
		}
		data, err := readBinary(opts, unitBinary, f.arch)
		if err != nil {
			return nil, nil, err
		}
		names[f.arch] = fmt.Sprintf("%s-%s-%s", unitBinary, f.arch, digest(data))
		files = append(files, output.File{Name: names[f.arch], Mode: 0o755, Data: data})
	}
	return names, files, nil
}

func readBinary(opts Options, name, arch string) ([]byte, error) {
	path, looked, err := image.FindBinary(opts.Binaries, name, arch)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return nil, fmt.Errorf("cannot find %s for linux/%s: looked for %s; a release archive of toskose has it beside toskose", name, arch, strings.Join(looked, ", "))
	}
	return os.ReadFile(path)
}

func digest(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:6])
}

// managerImage returns a name that changes with the image's content, so that Compose builds it
// again.
func (r *renderer) managerImage(files []output.File) string {
	var parts [][]byte
	for _, f := range files {
		if filepath.Dir(f.Name) == managerFolder {
			parts = append(parts, f.Data)
		}
	}
	return r.project.Name + "-" + Manager + ":" + digest(parts...)
}

// checkSecrets returns an error if a secret of the second file would replace one of the user.
func (p *project) checkSecrets(f file) error {
	for name := range f.Secrets {
		if _, ok := p.Secrets[name]; ok {
			return fmt.Errorf("the application has a secret %q, which would be replaced: rename it", name)
		}
	}
	return nil
}

// credentials returns the plan of the secrets.
func credentials(name string, opts Options, findings []Finding) *packager.Plan {
	plan := &packager.Plan{App: name, Config: config.Config{Manager: config.Manager{User: user, Bind: config.DefaultManagerBind}}}
	plan.Services = []packager.Service{{Name: Manager, IsManager: true, UnitPort: opts.Port}}
	plan.Secrets = []packager.Secret{
		{Name: packager.ManagerPassword}, {Name: packager.ManagerSecretKey}, {Name: packager.ManagerUsers, Begin: `{"users": []}`},
	}
	certify := func(cert, key string, tls packager.TLS) {
		asKey := tls
		asKey.Key = true
		plan.Secrets = append(plan.Secrets, packager.Secret{Name: cert, TLS: &tls}, packager.Secret{Name: key, TLS: &asKey})
	}
	if opts.TLS {
		plan.Secrets = append(plan.Secrets, packager.Secret{Name: packager.TLSAuthority, TLS: &packager.TLS{}})
		certify(managerSecret(certSecret), managerSecret(keySecret),
			packager.TLS{For: Manager, Names: []string{"127.0.0.1", "::1", packager.LocalName, Manager}})
	}
	for _, f := range findings {
		if !f.Attached {
			continue
		}
		plan.Secrets = append(plan.Secrets, packager.Secret{Name: unitSecret(f.Service, passwordSecret)})
		if opts.TLS {
			certify(unitSecret(f.Service, certSecret), unitSecret(f.Service, keySecret), packager.TLS{For: f.Service, Names: []string{f.Service, podsOf(f.Service)}})
		}
	}
	return plan
}

// makeDocuments makes the folders that units store documents in. A unit may run as any user; the
// parent folder keeps other users of this machine out.
func (p *project) makeDocuments(findings []Finding) error {
	parent := filepath.Join(p.folder, documentsFolder)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	for _, f := range findings {
		if !f.Attached {
			continue
		}
		folder := filepath.Join(parent, f.Service)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // see above
			return err
		}
	}
	return nil
}
