package packager

import (
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/toskose/toskose/spec"
)

// manager plans the manager's image and service.
func (p *planner) manager() {
	cfg := p.plan.Config.Manager
	base, err := cfg.Docker.Base("")
	if err != nil {
		p.report("manager.docker.base_tag: needs a base_image")
	}
	s := Service{
		Name: cfg.Alias, Image: cfg.Docker.Image(), User: ManagerUser, SecretUser: ManagerUID, IsManager: true, StopGrace: stopGrace(nil),
		UnitPort: cfg.Port, UnitPasswd: ManagerPassword, Health: []string{ManagerPath, "health"},
		Ports: []Port{{Container: cfg.Port, Host: cfg.Port, Protocol: "tcp", Bind: cfg.Bind}},
		Env: map[string]string{
			"TOSKOSE_MANAGER_PORT":          strconv.Itoa(cfg.Port),
			"TOSKOSE_APP_MODE":              cfg.Mode,
			"TOSKOSE_MANAGER_USER":          cfg.User,
			"TOSKOSE_MANAGER_PASSWORD_FILE": path.Join(SecretsPath, ManagerPassword),
			"TOSKOSE_MANAGER_USERS_FILE":    path.Join(SecretsPath, ManagerUsers),
			"SECRET_KEY_FILE":               path.Join(SecretsPath, ManagerSecretKey),
			"TOSKOSE_SECRETS":               SecretsPath,
		},
	}
	maps.Copy(s.Env, cfg.Env)
	p.managerSecrets(&s)
	p.managerTLS(&s)
	slices.Sort(s.Secrets)
	p.plan.Services = append(p.plan.Services, s)
	p.plan.Images = append(p.plan.Images, Image{
		Name: s.Image, Base: base, Labels: p.labels(""), Files: p.managerFiles(),
		Health: s.Health, RegistryPassword: cfg.Docker.RegistryPassword,
	})
	p.checkImageNames()
}

// managerFiles returns the files of the manager's image: the application's document and the
// authorities of client certificates.
func (p *planner) managerFiles() []File {
	t := newTree(p.archive)
	p.plan.Document = p.document()
	document, err := spec.Encode(p.plan.Document)
	if err != nil {
		p.problems = append(p.problems, err)
	}
	t.data(ApplicationPath, document)
	if ca := p.plan.Config.Manager.ClientCA; ca != "" {
		t.data(ClientCAPath, []byte(ca))
	}
	return t.sorted()
}

// managerSecrets adds the manager's own secrets and the passwords of all units.
func (p *planner) managerSecrets(s *Service) {
	cfg := p.plan.Config.Manager
	p.plan.Secrets = append(p.plan.Secrets,
		Secret{Name: ManagerPassword, Given: cfg.Password}, Secret{Name: ManagerSecretKey, Given: cfg.SecretKey},
		Secret{Name: ManagerUsers, Begin: `{"users": []}`})
	for _, secret := range p.plan.Secrets {
		if !secret.Application && secret.TLS == nil {
			s.Secrets = append(s.Secrets, secret.Name)
		}
	}
}

func (p *planner) checkImageNames() {
	seen := map[string]bool{}
	for _, i := range p.plan.Images {
		names := []string{i.Name}
		if i.Dockerfile != "" && !i.Alone() {
			names = append(names, i.Base)
		}
		for _, name := range names {
			if seen[name] {
				p.report("image %q: two containers would have this image; name them apart by docker.name or docker.tag", name)
			}
			seen[name] = true
		}
	}
}
